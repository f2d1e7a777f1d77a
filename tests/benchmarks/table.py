"""The figures of one part as a table for people."""

from rich.console import Console
from rich.table import Table

from tests.benchmarks.findings import Findings
from tests.benchmarks.marks import MARKS


def show(part: str, findings: Findings, seconds: float, console: Console) -> None:
    """Print what a part has found out."""
    table = Table(title=f"{part} ({seconds:.0f} s)", title_justify="left")
    table.add_column("figure", no_wrap=True)
    for title in ("value", "rounds", "must be (aim)"):
        table.add_column(title, justify="right")
    table.add_column("")
    for key, value in findings.figures.items():
        least, most = findings.spread.get(key, (None, None))
        mark = MARKS.get(key)
        missed = mark is not None and not mark.is_met_by(value)
        table.add_row(
            key,
            f"{value:g}",
            "" if least is None else f"{least:g} … {most:g}",
            "" if mark is None else str(mark),
            "[red]missed[/red]" if missed else "",
        )
    if findings.rates:
        table.add_section()
    for key, value in findings.rates.items():
        table.add_row(f"[dim]{key}[/dim]", f"[dim]{value:,.10g}[/dim]")
    console.print(table)
