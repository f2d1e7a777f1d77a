"""A RocketMQ broker that is killed and started under load."""

from tests.acceptance.e2e.run import run_part
from tests.acceptance.faults.figures import Figures
from tests.acceptance.faults.restart.own_service import OwnService


def broker_restarted(*, quick: bool) -> Figures:
    """Run the end-to-end story on PostgreSQL while its broker is killed and started again."""
    figures = Figures("restart rocketmq")
    with OwnService.of("rocketmq-broker").kept_up():
        try:
            counted = run_part(
                "restart",
                "postgresql",
                broker_stopped=True,
                transactions=600 if quick else 2000,
                away_seconds=3.0 if quick else 20.0,
            )
        except (TimeoutError, RuntimeError) as error:
            figures.complain(str(error))
            return figures
    figures.update(counted)
    figures["events"] = counted["stored"]
    figures["lost"] = counted["stored"] - counted["received"]
    for name in ("lost", "overtaken", "failed"):
        figures.expect(name, 0)
    return figures
