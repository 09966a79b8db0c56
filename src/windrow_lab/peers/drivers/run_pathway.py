"""Pathway over CSV files with a header: each workload as a dataflow, run to its end.

A request is ``{"task": "W1", "threads": 2, "runs": [run, ...]}``, a run ``{"name": ..., "folder":
..., "answer": folder or null, "window": ms, "slide": ms}``. The files are read as one finished
batch: Pathway has no end of a stream.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

Tables = dict[str, Any]
Build = Callable[[Any, Tables, int, int], Any]


def near(pw: Any, one: Any, other: Any, window: int) -> Any:
    """Join two tables on k, less than a window apart."""
    return one.interval_join(
        other,
        one.ms,
        other.ms,
        pw.temporal.interval(1 - window, window - 1),
        one.k == other.k,
    )


def sliding(pw: Any, table: Any, window: int, slide: int) -> Any:
    """Cut a table into windows ``(τ - window, τ]`` a src."""
    cut = pw.temporal.sliding(hop=slide, duration=window, origin=1)
    return table.windowby(table.ms, window=cut, instance=table.src)


def w1(pw: Any, tables: Tables, window: int, _slide: int) -> Any:
    """The window join."""
    a, b = tables["a"], tables["b"]
    pairs = near(pw, a, b, window)
    return pairs.select(ts=a.ms, k=a.k, src=a.src, v=a.v, bts=b.ms, bsrc=b.src, bv=b.v)


def w2(pw: Any, tables: Tables, window: int, slide: int) -> Any:
    """Count, maximum and sum a src at each refresh."""
    return sliding(pw, tables["a"], window, slide).reduce(
        ts=pw.this._pw_window_end - 1,
        src=pw.this._pw_instance,
        n=pw.reducers.count(),
        m=pw.reducers.max(pw.this.v),
        s=pw.reducers.sum(pw.this.v),
    )


def w4(pw: Any, tables: Tables, window: int, slide: int) -> Any:
    """Distinct keys a src at each refresh."""
    return sliding(pw, tables["a"], window, slide).reduce(
        ts=pw.this._pw_window_end - 1,
        src=pw.this._pw_instance,
        n=pw.reducers.count_distinct(pw.this.k),
    )


def w5(pw: Any, tables: Tables, window: int, _slide: int) -> Any:
    """Tuples of a without a tuple of b in the window before them."""
    a, b = tables["a"], tables["b"]
    back = pw.temporal.interval(1 - window, 0)
    joined = a.interval_join_left(b, a.ms, b.ms, back, a.k == b.k)
    return joined.select(ts=a.ms, k=a.k, other=b.k).filter(pw.this.other.is_none()).without("other")


def w6(pw: Any, tables: Tables, window: int, slide: int) -> Any:
    """Count and sum of the join a src, at each refresh."""
    a, b = tables["a"], tables["b"]
    pairs = near(pw, a, b, window).select(ms=a.ms, src=a.src, v=b.v)
    return sliding(pw, pairs, window, slide).reduce(
        ts=pw.this._pw_window_end - 1,
        src=pw.this._pw_instance,
        n=pw.reducers.count(),
        s=pw.reducers.sum(pw.this.v),
    )


def w7(pw: Any, tables: Tables, window: int, _slide: int) -> Any:
    """The join of three."""
    a, b, c = tables["a"], tables["b"], tables["c"]
    two = near(pw, a, b, window).select(ms=a.ms, k=a.k, bms=b.ms, av=a.v, bv=b.v)
    three = near(pw, two, c, window).select(
        ats=two.ms, bts=two.bms, cts=c.ms, k=two.k, av=two.av, bv=two.bv, cv=c.v
    )
    apart = three.bts - three.cts
    return three.filter((apart < window) & (apart > -window))


FLOWS: dict[str, Build] = {"W1": w1, "W2": w2, "W4": w4, "W5": w5, "W6": w6, "W7": w7}


def run(pw: Any, task: str, each: dict[str, Any]) -> dict[str, object]:
    """Build a workload's dataflow and run it: into a CSV file, or into nothing."""
    pw.internals.parse_graph.G.clear()
    schema = pw.schema_from_types(ms=int, k=int, src=str, v=float)
    start = perf_counter()
    folder = Path(each["folder"])
    tables = {
        path.name: pw.io.csv.read(str(path), schema=schema, mode="static")
        for path in sorted(folder.iterdir())
    }
    emitted = FLOWS[task](pw, tables, each["window"], each["slide"])
    if each["answer"]:
        Path(each["answer"]).mkdir(parents=True)
        pw.io.csv.write(emitted, f"{each['answer']}/rows.csv")
    else:
        pw.io.null.write(emitted)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return {"seconds": perf_counter() - start}


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    os.environ["PATHWAY_THREADS"] = str(request["threads"])
    import pathway as pw  # noqa: PLC0415 - only Pathway's Python has it

    report({"event": "ready", "seconds": perf_counter() - start})
    for each in request["runs"]:
        report({"event": "run", "name": each["name"], **run(pw, request["task"], each)})


def report(event: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
