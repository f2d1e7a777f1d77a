"""What a package offers: `__all__` has every public name, and no name that is not there."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

_ROOT = Path(__file__).parent.parent.parent
_PACKAGES = sorted(
    ".".join(init.parent.relative_to(root).parts)
    for root, pattern in [
        (_ROOT, "pragmatic_ddd/**/__init__.py"),
        (_ROOT / "adapters", "pragmatic_ddd_*/**/__init__.py"),
    ]
    for init in root.glob(pattern)
)


@pytest.mark.parametrize("name", _PACKAGES)
def test_a_package_lists_what_it_offers(name: str) -> None:
    package = importlib.import_module(name)

    listed = getattr(package, "__all__", [])

    assert len(listed) == len(set(listed))
    assert set(listed) == _public_names(package)


def _public_names(package: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(package).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
