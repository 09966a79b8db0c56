"""Each folder of a package imports only from itself and from the folders to its left.

The laboratory imports the product, never the other way round.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
PACKAGE = SOURCE / "windrow"
LABORATORY = SOURCE / "windrow_lab"

LAYERS = (
    "core",
    "language",
    "plan",
    "physical",
    "optimize",
    "kernels",
    "storage",
    "synopses",
    "operators",
    "schedule",
    "transactions",
    "archive",
    "runtime",
    "generate",
    "server",
    "cli",
)

LAB_LAYERS = (
    ("contest",),
    ("generate",),
    ("experiments",),
    ("bench", "peers", "nexmark"),
    ("cli",),
)
"""Folders of one layer may import each other."""

LAB_NEEDS = ("duckdb", "matplotlib", "polars")
"""Packages that come with the laboratory: the product may import them when asked to, not before."""

ONLY_HERE = {"pyspark": "runtime/spark/", "numba": "kernels/"}

MODULES = sorted(PACKAGE.rglob("*.py"))
LAB_MODULES = sorted(LABORATORY.rglob("*.py"))


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


def imported_at_once(text: str) -> set[str]:
    """Return the packages that a module imports when it is imported itself."""
    statements = [ast.parse(text)]
    found = set()
    while statements:
        for node in ast.iter_child_nodes(statements.pop()):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found.add(node.module.partition(".")[0])
            elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
                statements += [] if typing_only else [node]
    return found


def lab_layer(folder: str) -> int:
    return next(i for i, folders in enumerate(LAB_LAYERS) if folder in folders)


def lab_faults(place: str, text: str) -> Iterator[str]:
    """Yield a sentence for each import of a laboratory's module that its place does not allow."""
    folder = place.split("/", maxsplit=1)[0]
    for line, name in imported_names(place, text):
        root, _, rest = name.partition(".")
        if root == LABORATORY.name and lab_layer(rest.split(".")[0]) > lab_layer(folder):
            yield f"{place}:{line} imports {name}, which is to the right of {folder}"


def faults(place: str, text: str) -> Iterator[str]:
    """Yield a sentence for each import of a module that its place does not allow."""
    layer = place.split("/", maxsplit=1)[0]
    for line, name in imported_names(place, text):
        root, _, rest = name.partition(".")
        if root == LABORATORY.name:
            yield f"{place}:{line} imports {name}; the product must not need the laboratory"
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


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_module_loads_nothing_that_only_the_laboratory_needs(path: Path) -> None:
    assert imported_at_once(path.read_text()) & set(LAB_NEEDS) == set()


@pytest.mark.parametrize(
    "path",
    [path for path in LAB_MODULES if path.parent != LABORATORY],
    ids=lambda p: p.relative_to(LABORATORY).as_posix(),
)
def test_a_module_of_the_laboratory_imports_only_from_the_left(path: Path) -> None:
    assert list(lab_faults(path.relative_to(LABORATORY).as_posix(), path.read_text())) == []


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


def test_an_import_of_the_laboratory_is_found() -> None:
    text = "def f() -> None:\n    from windrow_lab.contest import turns\n    import duckdb\n"
    assert len(list(faults("cli/imagined.py", text))) == 1
    assert imported_at_once(text) == set()
    assert imported_at_once("try:\n    import duckdb.typing\nexcept ImportError: pass\n") == {
        "duckdb"
    }
    text = "from windrow_lab.cli import bench\nfrom windrow_lab.contest import turns\n"
    assert len(list(lab_faults("bench/imagined.py", text))) == 1
