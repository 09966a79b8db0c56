"""The vectorised evaluator of bound expressions, one file a family of functions.

`compile_expr` resolves everything once; a batch then costs one Arrow or NumPy call a node.
No row of a batch can make it fail: see `windrow.plan.functions` for what NULL stands in for.
"""

from windrow.operators.evaluate.compile import (
    BUILDERS,
    Evaluator,
    Predicate,
    compile_expr,
    compile_predicate,
    evaluate,
    fold,
)

__all__ = [
    "BUILDERS",
    "Evaluator",
    "Predicate",
    "compile_expr",
    "compile_predicate",
    "evaluate",
    "fold",
]
