"""For every function of the catalogue: arguments to try it with, over one table of edge values.

A case is a tuple of arguments: a name is a column of the table below, anything else a constant.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa

from windrow.core.types import DATE, INTERVAL, TIMESTAMP
from windrow.plan.expressions import Column, Expr, Literal

DAY = 86_400_000_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31

WORDS = [
    *("", " ", "a", "ab", "abc", "aXbXc", "héllo wörld", "日本語", "x😀y", "%", "a%b", "a_b"),
    *(
        "The quick  brown",
        " pad ",
        "x,y,,z",
        "O'Neil",
        "\\",
        "a.b",
        "AbC dEf",
        "aaa",
        "12",
        "b1c22",
    ),
]
NUMERALS = [
    *("1", "-7", "+12", " 42 ", "007", "1.5", "-.5", "3.", "1e3", "-2.5E-2", "abc", "", "-", "."),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999999999999999"),
    *("300", "NaN", "inf", "-Infinity", "1 2", "0x1", "12345678.125", "0.005", "-0.005", "2.675"),
    *("true", "F", "yes", "No ", "T", "0", "1e400", "123456789012345678901234567890.12"),
    "00000000000000000000000000000000000000000000000000001.25",
]
MOMENTS = [
    *(
        "2024-02-29",
        "2023-02-29",
        "1969-12-31 23:59:59.999999",
        "2024-2-9",
        "0001-01-01",
        "0000-01-01",
    ),
    *("2024-02-29T12:30:00Z", "2024-02-29 12:30:00+02:00", "2024-02-29 12:30-0530", "nonsense", ""),
    *(
        " 2024-02-29 ",
        "2024-13-01",
        "2024-12-31 24:00:00",
        "2024-12-31 1:05",
        "9999-12-31 23:59:59",
    ),
    *(
        "2024-06-01 10:00:00.1234567",
        "2024-06-01 10:00:00 +15",
        "2024-06-01 10:00:00+01",
        "2024-06-00",
    ),
]


def _whole(bits: int) -> tuple[pa.DataType, list[object]]:
    top = 2 ** (bits - 1)
    return pa.from_numpy_dtype(f"int{bits}"), [0, 1, -1, 2, -2, 7, -10, 99, top - 1, -top, top // 2]


_REALS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.675, 1e-9, 1e15, -1e15, 1e20, 1e300),
    *(float("nan"), float("inf"), float("-inf"), 3.14159, 123456.789, 0.1, 9.2e18, 1e19, -9.3e18),
]

POOLS: dict[str, tuple[pa.DataType, list[object]]] = {
    "i8": _whole(8),
    "i16": _whole(16),
    "i32": _whole(32),
    "i64": _whole(64),
    "f32": (pa.float32(), [0.0, 1.5, -2.5, float("nan"), float("inf"), 1e10, 0.25, -1.0]),
    "f64": (pa.float64(), list(_REALS)),
    "d2": (
        pa.decimal128(10, 2),
        [Decimal(v) for v in ("0", "1.25", "-1.25", "0.05", "-0.05", "99999999.99", "-7.50", "3")],
    ),
    "d6": (
        pa.decimal128(18, 6),
        [Decimal(v) for v in ("0", "0.000001", "-0.5", "2.5", "999999999999.999999", "-1.234565")],
    ),
    "d8": (
        pa.decimal128(12, 8),
        [Decimal(v) for v in ("0", "0.00000001", "-0.00000012", "1.5", "-9999.99999999")],
    ),
    "b": (pa.bool_(), [True, False]),
    "c": (pa.bool_(), [True, False]),
    "s": (pa.string(), list(WORDS)),
    "t": (pa.string(), list(WORDS)),
    "num": (pa.string(), list(NUMERALS)),
    "mom": (pa.string(), list(MOMENTS)),
    "n": (pa.int32(), list(range(-6, 9))),
    "m": (pa.int64(), [-(2**40), -3, -2, -1, 0, 1, 2, 3, 5, 40, 63, 64, 65, 2**40]),
    "code": (pa.int32(), [-1, 65, 97, 233, 255, 256 + 65, 321]),
    "sec": (pa.int64(), [0, 1, -1, 1_700_000_000, -2_000_000_000, 86_399, 2**63 - 1, -(2**63)]),
    "date": (DATE, [0, -1, 59, 789, 11_016, 19_782, 19_722, FIRST_DAY, LAST_DAY, -25_509, 18_627]),
    "day": (DATE, [0, -1, 1, 30, 365, 19_782]),
    "ts": (
        TIMESTAMP,
        [
            *(0, -1, 1, DAY - 1, -DAY, 19_782 * DAY + 12_345_678_901, FIRST_DAY * DAY),
            *((LAST_DAY + 1) * DAY - 1, 1_700_000_000_123_456, -1_700_000_000_123_000),
        ],
    ),
    "at": (TIMESTAMP, [0, -1, 1_000_000, 19_782 * DAY, 1_700_000_000_123_456]),
    "iv": (INTERVAL, [0, 1, -1, DAY, -DAY, 3_600_000_000, 5_000_000, 2**60, -(2**60)]),
    "far": (INTERVAL, [0, 1, -1, 2**63 - 1, -(2**63), 2**62]),
    "bin": (pa.binary(), [b"", b"a", b"\x00\xff", b"ab"]),
}
"""Each column's type and the values that are drawn for it, beside random ones and NULLs."""


def _random(name: str, rng: np.random.Generator) -> object:
    """Return a value between the edges, for the columns where that tells more."""
    match name:
        case "i32" | "i64":
            return int(rng.integers(-1000, 1000))
        case "f64":
            return float(np.round(rng.normal(0, 100), int(rng.integers(0, 6))))
        case "d2":
            return Decimal(int(rng.integers(-(10**6), 10**6))).scaleb(-2)
        case "date":
            return int(rng.integers(FIRST_DAY, LAST_DAY))
        case "ts":
            return int(rng.integers(FIRST_DAY * DAY, LAST_DAY * DAY))
        case "iv":
            return int(rng.integers(-DAY, DAY))
        case "s":
            return "".join(rng.choice(list("aAbX é日,. %_"), int(rng.integers(0, 9))))
        case _:
            pool = POOLS[name][1]
            return pool[int(rng.integers(len(pool)))]


@cache
def edge_table(seed: int, rows: int) -> dict[str, pa.Array]:
    """Return the columns of one table: edge values, random values and NULLs, shuffled."""
    rng = np.random.default_rng(seed)
    table = {}
    for name, (type_, pool) in POOLS.items():
        values = [
            None
            if p < 0.1
            else _random(name, rng)
            if p < 0.5
            else pool[int(rng.integers(len(pool)))]
            for p in rng.random(rows)
        ]
        table[name] = pa.array(values, type_)
    return table


def _pairs(*names: str) -> list[tuple[object, ...]]:
    return list(product(names, names))


def _each(*names: str) -> list[tuple[object, ...]]:
    return [(name,) for name in names]


_NUMBERS = ("i8", "i32", "i64", "f32", "f64", "d2", "d6")
_ORDERED = [
    *_pairs("i32", "i64", "f64", "d2"),
    *_pairs("date", "ts"),
    *[("s", "t"), ("b", "c"), ("far", "far"), ("f32", "f64"), ("i64", "m"), ("bin", "bin")],
    *[
        ("i64", 5),
        ("f64", 0.5),
        ("f64", float("nan")),
        (1.5, "f64"),
        ("s", Literal("abc", pa.string())),
    ],
    *[
        ("ts", Literal("2024-02-29 10:00", pa.string())),
        ("date", Literal("1970-01-01", pa.string())),
    ],
    *[("i32", None), ("d2", Decimal("1.25"))],
]
_DATES: list[tuple[object, ...]] = _each("date", "ts")


def text(value: str) -> Literal:
    """Return a text constant, which a bare str is not: that names a column."""
    return Literal(value, pa.string())


CASES: dict[str, list[tuple[object, ...]]] = {
    "add": [
        *_pairs(*_NUMBERS),
        *[
            ("ts", "iv"),
            ("iv", "ts"),
            ("date", "iv"),
            ("date", "n"),
            ("far", "far"),
            ("i64", 1),
            ("d2", 3),
        ],
    ],
    "sub": [
        *_pairs(*_NUMBERS),
        *[
            ("ts", "at"),
            ("ts", "iv"),
            ("date", "ts"),
            ("date", "iv"),
            ("date", "n"),
            ("far", "far"),
        ],
        *[("i64", 1), (1, "i64"), ("ts", text("2024-01-01"))],
    ],
    "mul": [*_pairs(*_NUMBERS), ("iv", "n"), ("far", "n"), ("i64", 3), ("d2", Decimal("1.1"))],
    "div": [*_pairs(*_NUMBERS), ("f64", 0), ("f64", 4), (1, "i64")],
    "intdiv": [
        *_pairs("i8", "i32", "i64"),
        ("i64", 7),
        ("i64", -1),
        ("i64", 0),
        ("i64", "n"),
        (100, "n"),
    ],
    "mod": [
        *_pairs("i8", "i32", "i64", "f64"),
        *[
            ("d2", "d2"),
            ("d6", "d6"),
            ("d2", "i8"),
            ("i64", 7),
            ("i64", -1),
            ("i64", 0),
            ("f64", 2.5),
        ],
    ],
    "pmod": [
        *_pairs("i8", "i32", "i64"),
        ("i64", "n"),
        ("f64", 2.5),
        ("d2", "d2"),
        ("i64", 7),
        ("i64", 0),
    ],
    "neg": _each(*_NUMBERS, "iv", "far"),
    "abs": _each(*_NUMBERS),
    "ceil": _each(*_NUMBERS),
    "floor": _each(*_NUMBERS),
    "round": [
        *_each(*_NUMBERS, "d8"),
        *product(("i8", "i64", "f64", "d2", "d6"), (0, 1, 2, -1, -2, -5)),
        *[("i64", -18), ("i64", -19), ("i64", -20), ("f64", 8), ("f64", -20)],
    ],
    **{name: _each("i32", "f64", "d2") for name in ("sign", "sqrt", "exp", "ln", "log10", "log2")},
    **{
        name: _each("n", "f64", "f32", "d2")
        for name in (
            *(
                "sin",
                "cos",
                "tan",
                "asin",
                "acos",
                "atan",
                "sinh",
                "cosh",
                "tanh",
                "asinh",
                "acosh",
            ),
            *("atanh", "cbrt", "expm1", "log1p", "rint", "degrees", "radians"),
        )
    },
    **{name: [("f64", "n"), ("f64", "f64"), (2, "f64")] for name in ("atan2", "hypot")},
    "pi": [()],
    "e": [()],
    "factorial": _each("n", "m", "i64"),
    "bit_count": _each("i8", "i32", "i64", "m"),
    "nullifzero": _each("n", "f64", "d2"),
    "zeroifnull": _each("n", "f64", "d2"),
    "decode": [("n", 1, "s", 2, "t"), ("n", None, 5, 3, "i64", 7), ("s", text("a"), "b", "c")],
    "elt": [("n", "s", "t"), (2, "s", "t", text("x"))],
    "space": _each("n"),
    "overlay": [("s", "t", 2), ("s", text("_"), 1), ("s", text("zz"), 3, 1), ("s", "t", "n", 2)],
    "octet_length": _each("s"),
    "bit_length": _each("s"),
    "substring_index": [
        *[("s", text(","), n) for n in (1, 2, 3, -1, -2, 0)],
        *[("s", text(""), 1), ("s", text("b"), -1), ("s", text(" "), "n")],
    ],
    "regexp_count": [("s", text(p)) for p in ("a", "[a-c]", "b$", "日|é", "x*y")],
    "levenshtein": [("num", "mom"), ("num", text("1.5e9")), ("mom", text(""))],
    "date_part": [(text(p), "ts") for p in ("YEAR", "hours", "week", "doy", "SECOND")],
    "unix_date": _DATES,
    "date_from_unix_date": _each("n", "i32", "m"),
    "make_date": [("n", "n", "n"), (2024, "n", "code"), (2023, 2, "n"), ("i32", 12, 31)],
    "power": [("f64", "n"), ("f64", 2), ("f64", 0.5), ("n", "n"), (2, "n")],
    "log": [("f64",), ("i64",), (2, "f64"), ("n", "f64")],
    **{name: [*_pairs("i8", "i32", "i64"), ("i64", 255)] for name in ("bitand", "bitor", "bitxor")},
    "bitnot": _each("i8", "i32", "i64"),
    **{
        name: [
            ("i8", "n"),
            ("i32", "n"),
            ("i64", "n"),
            ("i32", "m"),
            ("i64", "m"),
            ("i64", 3),
            (1, "n"),
        ]
        for name in ("shiftleft", "shiftright")
    },
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe"), _ORDERED),
    "in": [
        *[("i64", 1, -1, 7), ("i64", 1, None), ("i32", "n", "i64"), ("s", text("abc"), text(""))],
        *[
            ("f64", 0.0, float("nan")),
            ("f64", 1.0, None),
            ("d2", Decimal("1.25"), 3),
            (5, "n", "i64"),
        ],
        *[("ts", text("1970-01-01"), "at"), ("date", text("1970-01-01")), ("b", True)],
    ],
    **{
        name: [
            ("s", text(p))
            for p in (
                "a%",
                "%b%",
                "a_b",
                r"a\_b",
                r"%\%%",
                "",
                "%",
                "_",
                "é%",
                "A%",
                "%.%",
                "a.b",
                r"\\",
            )
        ]
        for name in ("like", "ilike")
    },
    "rlike": [("s", text(p)) for p in ("^a", "[0-9]+", "b$", "", "a.b", "(?i)ABC", "日|😀", r"\.")],
    "and": [("b", "c"), ("b", True), ("b", None), ("b", "c", "b")],
    "or": [("b", "c"), ("b", True), ("b", None), ("b", "c", "b")],
    "not": _each("b"),
    "is_null": _each("i64", "s", "b", "ts", "d2"),
    "is_not_null": _each("i64", "s", "b", "ts", "d2"),
    "is_true": _each("b"),
    "is_false": _each("b"),
    "case": [
        *[("b", "i32", "c", "i64"), ("b", "s", "t"), ("b", "d2", "c", "f64", 1), ("b", None, "ts")],
        *[(True, "i64", "b", 1), ("b", 1, False, 2, 3), ("b", "date", "ts"), ("b", "c")],
    ],
    "coalesce": [
        ("i32", "i64", 5),
        ("s", "t"),
        ("b", None, "c"),
        ("ts", "date"),
        ("f64",),
        ("d2", "i8"),
    ],
    "nullif": [("i32", "n"), ("s", text("a")), ("f64", float("nan")), ("ts", "at"), ("d2", 3)],
    "ifnull": [("i32", "i64"), ("s", text("?"))],
    "nvl2": [("s", "i32", "n"), ("i32", "s", "t")],
    "if": [("b", "i32", "n"), ("b", "s", text("no")), ("b", "f64", 0)],
    "nanvl": [("f64", 0), ("f64", "i32"), ("f32", "f64")],
    "isnan": _each("f64", "f32", "i32"),
    **{
        name: [
            *[
                ("i32", "i64"),
                ("f64", "f64", 2.5),
                ("f32", "f64"),
                ("s", "t"),
                ("b", "c"),
                ("date", "ts"),
            ],
            *[("d2", "d6", "n"), ("i64", 7, "n"), ("i64", None), ("far", "far"), ("bin", "bin")],
        ]
        for name in ("greatest", "least")
    },
    **{
        name: _each("s", "t", "num")
        for name in ("upper", "lower", "reverse", "initcap", "length", "ascii")
    },
    "chr": _each("code"),
    **{
        name: [("s",), ("s", text(" a")), ("s", "t"), ("s", text(""))]
        for name in ("trim", "ltrim", "rtrim")
    },
    "substring": [
        *product("s", (-5, -2, 0, 1, 2, 100), (-1, 0, 1, 3, 2**40)),
        *[
            ("s", "n"),
            ("s", "n", "n"),
            ("s", 2),
            ("s", -2),
            ("s", "m", 2),
            (text("windrow"), "n", 3),
            ("s", "m", "m"),
        ],
    ],
    "left": [("s", 2), ("s", 0), ("s", -1), ("s", "n"), ("s", "m")],
    "right": [("s", 2), ("s", 0), ("s", -1), ("s", "n"), ("s", "m")],
    **{
        name: [
            *[
                ("s", 5),
                ("s", 5, text("xy")),
                ("s", 0),
                ("s", -2),
                ("s", 4, text("")),
                ("s", 6, text("é")),
            ],
            *[("s", "n", text("-")), ("s", 4, "t"), ("s", 2_000_000), ("s", 12, text("日本"))],
        ]
        for name in ("lpad", "rpad")
    },
    "repeat": [("s", 3), ("s", 0), ("s", "n"), ("s", "m"), (text("ab"), "n")],
    "replace": [
        ("s", text("a"), text("Z")),
        ("s", text("")),
        ("s", text("b")),
        ("s", "t", text("-")),
        ("s", "t"),
    ],
    "translate": [
        *[
            ("s", text("abc"), text("xy")),
            ("s", text("aXé"), text("日-")),
            ("s", text(""), text("q")),
        ],
        *[("s", text("ab"), text("")), ("s", text("a"), "t")],
    ],
    "concat": [("s", "t"), ("s",), ("s", text("-"), "t"), ("s", None)],
    "concat_ws": [
        (text("-"), "s", "t"),
        ("s", "t", text("x")),
        (text(","), "s", None, "t"),
        ("s",),
    ],
    "instr": [("s", text("b")), ("s", text("")), ("s", "t"), ("s", text("日")), ("s", text("wö"))],
    "position": [(text("b"), "s"), ("t", "s")],
    "locate": [
        (text("b"), "s"),
        (text("a"), "s", 2),
        ("t", "s", "n"),
        (text(""), "s", 2),
        (text("X"), "s", "n"),
    ],
    **{
        name: [("s", text("a")), ("s", text("")), ("s", "t"), ("s", text("日"))]
        for name in ("startswith", "endswith", "contains")
    },
    "split_part": [
        *[
            ("s", text(","), 2),
            ("s", text(","), -1),
            ("s", text("X"), 1),
            ("s", text(""), 1),
            ("s", text(""), 2),
        ],
        *[("s", text(" "), "n"), ("s", "t", "n"), ("s", text(","), 0)],
    ],
    "regexp_extract": [
        *[
            ("s", text("([a-z])([0-9]+)"), 2),
            ("s", text("(b)")),
            ("s", text("[a-z]+"), 0),
            ("s", text("(x)|(a)"), 2),
        ],
        *[("s", text(r"\((a)"), 1), ("s", text("[(](?:a)(b)?"), 1)],
    ],
    "regexp_replace": [
        *[("s", text("[aeiou]"), text("*")), ("s", text("([a-z])([0-9])"), text("$2$1"))],
        *[
            ("s", text("b"), text(r"\$\\")),
            ("s", text("é"), text("")),
            ("s", text("(a)"), text("<$1>")),
        ],
    ],
    **{
        name: [*_DATES, (text("2024-02-29"),)]
        for name in (
            "year",
            "quarter",
            "month",
            "day",
            "dayofweek",
            "weekday",
            "dayofyear",
            "weekofyear",
        )
    },
    **dict.fromkeys(("hour", "minute", "second", "last_day"), _DATES),
    "date_trunc": [
        *((text(u), "ts") for u in ("YEAR", "quarter", "month", "week", "day", "hour", "minute")),
        *((text(u), "ts") for u in ("second", "millisecond", "microsecond", "MON")),
        (text("month"), "date"),
    ],
    "trunc": [("date", text(unit)) for unit in ("year", "quarter", "month", "week")],
    "date_add": [("date", "n"), ("date", 40), ("ts", 1), ("date", "m")],
    "date_sub": [("date", "n"), ("date", 40), ("ts", 1), ("date", "m")],
    "add_months": [("date", "n"), ("date", 13), ("day", "m"), ("at", 1)],
    "datediff": [("date", "day"), ("ts", "date"), ("date", text("2000-01-01"))],
    "to_date": _each("mom", "ts", "date"),
    "to_timestamp": _each("mom", "date", "ts"),
    "date_format": [
        *[
            ("ts", text("yyyy-MM-dd HH:mm:ss.SSSSSS")),
            ("ts", text("d.M.yy H:m:s")),
            ("date", text("DDD")),
        ],
        *[("ts", text("yyyy'T''x'SSS")), ("ts", text("")), ("ts", text("''mm"))],
    ],
    "unix_timestamp": _each("ts", "date", "mom"),
    "from_unixtime": [("n",), ("sec",), ("n", text("HH:mm"))],
    **dict.fromkeys(("unix_seconds", "unix_millis", "unix_micros"), _DATES),
    **{
        name: _each("n", "sec")
        for name in ("timestamp_seconds", "timestamp_millis", "timestamp_micros")
    },
}
"""Arguments for every function of the catalogue: a function without an entry fails the test."""


def argument(value: object) -> Expr:
    """Return a case's argument as a bound expression."""
    if isinstance(value, Literal):
        return value
    if isinstance(value, str):
        return Column(value, POOLS[value][0])
    if isinstance(value, int) and not isinstance(value, bool):
        return Literal(value, pa.int32() if abs(value) < 2**31 else pa.int64())
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int), "finite"
        return Literal(value, pa.decimal128(len(value.as_tuple().digits), -exponent))
    return Literal(value, pa.scalar(value).type)
