"""No kernel has more than ten parameters: related arrays are grouped in named tuples."""

import ast
from pathlib import Path

KERNELS = Path(__file__).parent.parent / "src" / "windrow" / "kernels"
MOST = 10


def crowded(text: str) -> dict[str, int]:
    """Return the functions of a module that have too many parameters, with how many."""
    counts = {
        node.name: len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    return {name: count for name, count in counts.items() if count > MOST}


def test_no_kernel_has_more_than_ten_parameters() -> None:
    found = {path.stem: crowded(path.read_text()) for path in sorted(KERNELS.glob("*.py"))}
    assert {name: many for name, many in found.items() if many} == {}


def test_a_crowded_kernel_is_found() -> None:
    assert crowded("def f(a, b, c, d, e, f, g, h, i, j, k): ...") == {"f": 11}
    assert crowded("def f(a, b, c, d, e, f, g, h, i, j): ...") == {}
