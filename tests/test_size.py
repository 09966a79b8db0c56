"""Functions stay under 60 lines (kernels 80), modules under 600, or pyproject.toml says why not."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
FUNCTION_LINES = 60
KERNEL_LINES = 80  # a compiled loop is one function, or it is slower
MODULE_LINES = 600


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
