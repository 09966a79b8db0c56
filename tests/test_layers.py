"""Each folder of the package imports only from itself and from the folders to its left."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "windrow"

LAYERS = (
    "core",
    "language",
    "plan",
    "optimize",
    "kernels",
    "synopses",
    "operators",
    "runtime",
    "schedule",
    "transactions",
    "archive",
    "generate",
    "server",
    "experiments",
    "cli",
)

ONLY_HERE = {"pyspark": "runtime/spark/", "numba": "kernels/"}

MODULES = sorted(PACKAGE.rglob("*.py"))


def imported_names(place: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the full dotted name of everything that a module imports."""
    package = ["windrow", *place.split("/")[:-1]]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [] if node.level == 0 else package[: len(package) - node.level + 1]
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{stem}.{alias.name}") for alias in node.names)


def faults(place: str, text: str) -> Iterator[str]:
    """Yield a sentence for each import of a module that its place does not allow."""
    layer = place.split("/", maxsplit=1)[0]
    for line, name in imported_names(place, text):
        root, _, rest = name.partition(".")
        if root in ONLY_HERE and not place.startswith(ONLY_HERE[root]):
            yield f"{place}:{line} imports {root}; only {ONLY_HERE[root]} may"
        target = rest.split(".")[0]
        if root != "windrow" or layer not in LAYERS or target not in LAYERS:
            continue  # the façade at the package's root may import every layer
        if LAYERS.index(target) > LAYERS.index(layer):
            yield f"{place}:{line} imports {name}, which is to the right of {layer}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_from_the_left(path: Path) -> None:
    assert list(faults(path.relative_to(PACKAGE).as_posix(), path.read_text())) == []


def test_every_folder_with_code_has_its_place_in_the_order() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in MODULES if path.parent != PACKAGE}
    assert folders <= set(LAYERS)


def test_an_import_to_the_right_is_found() -> None:
    text = "from ..plan import nodes\nimport windrow.cli.main\nimport numba\nimport pyspark.sql\n"
    assert len(list(faults("core/imagined.py", text))) == 4
    assert len(list(faults("runtime/spark/imagined.py", text))) == 2


def test_an_import_to_the_left_is_allowed() -> None:
    text = "from . import bind\nfrom windrow.core.time import Clock\nimport numpy\n"
    assert list(faults("plan/imagined.py", text)) == []
