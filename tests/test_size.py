"""Functions stay under 60 lines (kernels 80), modules under 600, or pyproject.toml says why not.

Dense code has comments, and imports do not pile up: shares of lines are kept.
"""

import ast
import io
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
FUNCTION_LINES = 60
KERNEL_LINES = 80  # a compiled loop is one function, or it is slower
MODULE_LINES = 600
COMMENTED = {"kernels": 0.02, "operators": 0.0105}
"""Least share of lines that have a comment, by folder; directives of tools do not count."""
IMPORTS = 0.09
"""Most lines of the product that are imports, as a share."""
DIRECTIVES = ("# type:", "# noqa", "# fmt:")


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield the qualified name and the length of every function below `tree`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{node.name}"
            if not isinstance(node, ast.ClassDef):
                yield name, (node.end_lineno or node.lineno) - node.lineno + 1
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, prefix)


def oversized(place: str, text: str) -> Iterator[tuple[str, int]]:
    """Yield ``path`` or ``path::function`` with its lines, for what is over the limit."""
    lines = text.count("\n")
    if lines > MODULE_LINES:
        yield place, lines
    limit = KERNEL_LINES if place.startswith("windrow/kernels/") else FUNCTION_LINES
    for name, length in functions(ast.parse(text)):
        if length > limit:
            yield f"{place}::{name}", length


@cache
def found() -> dict[str, int]:
    return {
        name: lines
        for path in sorted(SOURCE.rglob("*.py"))
        for name, lines in oversized(path.relative_to(SOURCE).as_posix(), path.read_text())
    }


def reasons() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return dict(project["tool"].get("windrow", {}).get("size", {}))


def test_what_is_long_has_a_reason() -> None:
    assert {name: lines for name, lines in found().items() if name not in reasons()} == {}


def test_every_reason_is_still_needed() -> None:
    assert set(reasons()) <= set(found())
    assert all(reasons().values())


def test_a_long_function_is_found() -> None:
    text = "class C:\n    def f(self):\n" + "        x = 1\n" * 60
    assert dict(oversized("m.py", text)) == {"m.py::C.f": 61}
    assert dict(oversized("m.py", "x = 1\n" * 601)) == {"m.py": 601}


def commented(text: str) -> int:
    """Return how many lines of a module have a comment for its reader."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = (token.string for token in tokens if token.type == tokenize.COMMENT)
    return sum(not comment.startswith(DIRECTIVES) for comment in found)


def imports(text: str) -> int:
    """Return how many lines of a module are imports."""
    found = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom))
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in found)


def texts(folder: str) -> list[str]:
    return [path.read_text() for path in (SOURCE / folder).rglob("*.py")]


@pytest.mark.parametrize("folder", COMMENTED)
def test_dense_code_has_comments(folder: str) -> None:
    found = texts(f"windrow/{folder}")
    assert sum(map(commented, found)) / sum(t.count("\n") for t in found) >= COMMENTED[folder]


def test_imports_do_not_pile_up() -> None:
    found = texts("windrow")
    assert sum(map(imports, found)) / sum(t.count("\n") for t in found) <= IMPORTS


def test_comments_and_imports_are_counted() -> None:
    text = "from a import (\n    b,\n    c,\n)\nx = 1  # why\n# because\ny = 2  # noqa: E501\n"
    assert commented(text) == 2
    assert imports(text) == 4
