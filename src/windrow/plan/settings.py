"""Settings: what SET can change, what each may be, and which of them a query has no use for.

SET is for all queries that follow, so a setting that one of them has no use for is no error:
EXPLAIN and `q.stats()` show it. One that was given to a query alone is meant for that query: there
it is refused. Settings that contradict each other are refused wherever they were said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from windrow.core.errors import BindError, Span
from windrow.core.naming import near, shown
from windrow.language.syntax import UNIT_OF
from windrow.language.windows import INTERVAL_TEXT
from windrow.plan.nodes import Hold, Query, nodes_of


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name, what it does, its default and, if they are few, its values.

    `names`: whether it may also be names in braces, as in ``{a,b}``; `length`: a length of time;
    `counts`: a number from 1.
    """

    name: str
    meaning: str
    default: object
    values: tuple[object, ...] = ()
    names: bool = False
    length: bool = False
    counts: bool = False


_ALL = (
    Setting(
        "bare_words",
        "what an unknown bare word in an expression is: an error, or a string constant",
        "error",
        ("error", "strings"),
    ),
    Setting("strategy", "how tuples expire", "auto", ("auto", "upa", "direct", "negative")),
    Setting(
        "join_algorithm",
        "what joins streams: a tree of binary joins, or one operator for all of them",
        "auto",
        ("auto", "tree", "hash", "loops", "naive", "nested_w", "hash_w", "merge_w"),
    ),
    Setting(
        "early_aggregation",
        "which inputs are aggregated before they are joined, by their names in FROM",
        "auto",
        ("auto", "none"),
        names=True,
    ),
    Setting(
        "partials",
        "whether Spark merges the tuples of a pane, and shards fold groups, before rows are moved",
        "auto",
        ("auto", "on", "off"),
    ),
    Setting(
        "expiry",
        "how soon expiries show: with the next tuple, by negative tuples, or by what tuples bring",
        "auto",
        ("auto", "input_triggered", "negative", "piggyback"),
    ),
    Setting(
        "join_messages",
        "whether under expiry negative one message stands for all results that expire together",
        "auto",
        ("auto", "on", "off"),
    ),
    Setting(
        "punctuation",
        "how long an operator may emit nothing before it passes on the time, under input_triggered",
        "none",
        ("none",),
        length=True,
    ),
    Setting(
        "hold",
        "how long results of a negation must last before they are emitted",
        "none",
        ("none",),
        length=True,
    ),
    Setting(
        "expiry_pace",
        "how many tuples expire on a shard in one batch on Spark, before time waits for the next",
        "off",
        ("off",),
        counts=True,
    ),
)

LENGTH = "a length of time, for example '2 seconds', or none"
"""How a setting that is a length of time is written."""

SETTINGS: dict[str, Setting] = {s.name: s for s in _ALL}


def check_setting(name: str, value: object, span: Span | None = None) -> object:
    """Return the value as it is kept; refuse unknown settings and values.

    `span` is where the name stands in a text.
    """
    setting = SETTINGS.get(name.lower())
    if setting is None:
        raise BindError(
            f'unknown setting "{name}"',
            detail=f"The settings are {', '.join(SETTINGS)}.",
            hint=near(name, list(SETTINGS)) or "SHOW SETTINGS lists them with their values.",
            span=span,
        )
    if not isinstance(value, str | int | float):
        raise _no_value(setting, value)
    kept = value.lower() if isinstance(value, str) else value
    if setting.names and isinstance(kept, str) and (found := names_in(kept)) is not None:
        return "{" + ",".join(found) + "}" if found else "none"
    if setting.length and (length := length_in(kept)) is not None:
        return length
    if setting.counts and str(kept).isdecimal() and int(str(kept)) > 0:
        return int(str(kept))
    if setting.values and kept not in setting.values:
        raise _no_value(setting, value)
    return kept


def _no_value(setting: Setting, value: object) -> BindError:
    """Return the error for what a setting cannot be."""
    more = ", or names in braces: {a,b}" if setting.names else ""
    more = ", or a number from 1" if setting.counts else more
    known = f"one of {', '.join(str(v) for v in setting.values)}{more}"
    said = value if isinstance(value, str) else shown(value)
    return BindError(
        f"{setting.name} cannot be {said}",
        detail=f"It says {setting.meaning}.",
        hint=f"Write {LENGTH if setting.length else known}.",
    )


def asked_of(settings: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    """Return the settings that are not at their defaults.

    >>> asked_of({"expiry": "auto", "hold": "2 SECONDS"})
    (('hold', '2 SECONDS'),)
    """
    said = ((s.name, settings.get(s.name, s.default)) for s in _ALL)
    return tuple((name, value) for name, value in said if value != SETTINGS[name].default)


def names_in(text: str) -> tuple[str, ...] | None:
    """Return the names of a set, each once; None for another text.

    >>> names_in("{ a, b,a }"), names_in("{}"), names_in("auto")
    (('a', 'b'), (), None)
    """
    if not (text.startswith("{") and text.endswith("}")):
        return None
    parts = [part.strip().strip('"`') for part in text[1:-1].split(",")]
    if parts == [""]:
        return ()
    return tuple(dict.fromkeys(parts)) if all(parts) else None


def length_in(value: object) -> str | None:
    """Return a length of time as number and unit, without one if it has none; None for others.

    >>> length_in("2 sec"), length_in("0.5"), length_in(3), length_in(0), length_in("soon")
    ('2 SECONDS', '0.5', '3', 'none', None)
    >>> length_in(1e-5), length_in(1e16)
    ('0.00001', '10000000000000000')
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = f"{Decimal(repr(float(value))):f}" if isinstance(value, float) else str(value)
    found = INTERVAL_TEXT.match(text)
    if found is None or (found[2] and found[2].upper() not in UNIT_OF):
        return None
    if float(found[1]) == 0:
        return "none"
    return f"{found[1]} {UNIT_OF[found[2].upper()]}S" if found[2] else found[1]


def checked_algorithm(name: str) -> str:
    """Return what joins streams as it is kept; refuse what is no algorithm."""
    return str(check_setting("join_algorithm", name))


def checked_early(value: str) -> str:
    """Return what is aggregated before it is joined as it is kept; refuse what cannot be."""
    return str(check_setting("early_aggregation", value))


LOCAL, SPARK = "local", "spark"

OF_A_RUN = ("partials", "expiry_pace")
"""Settings that all queries of a run on Spark share."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A setting without effect, why it has none, and what would give it one."""

    name: str
    value: object
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        """Return the line that EXPLAIN shows."""
        return f"{self.name} = {self.value} has no effect: {self.reason}"


def unused(query: Query, engine: str | None = None) -> list[Unused]:
    """Return the settings that a query was bound under and has no use for.

    Without an engine: those that no engine could use.
    """
    return [*_of_plan(query), *(_of_engine(query, engine) if engine is not None else ())]


def _of_plan(query: Query) -> Iterator[Unused]:
    asked, kind = dict(query.asked), query.expiry.kind
    if "hold" in asked and not any(isinstance(node, Hold) for node in nodes_of(query.root)):
        reason = "the query has no negation whose results could be held"
        yield Unused("hold", asked["hold"], reason)
    said = query.expiry.join_messages
    if said != "auto" and not (kind == "negative" or (kind == "piggyback" and said == "on")):
        reason = f"under expiry {kind} no negative tuples travel that messages could stand for"
        yield Unused("join_messages", said, reason, "negative")
    if "punctuation" in asked and kind != "input_triggered":
        reason = f"under expiry {kind} operators learn of time without it"
        yield Unused("punctuation", asked["punctuation"], reason, "input_triggered")


def _of_engine(query: Query, engine: str) -> Iterator[Unused]:
    asked = dict(query.asked)
    if engine == LOCAL and "partials" in asked:
        yield Unused("partials", asked["partials"], "no rows are moved within one process")
    if engine == LOCAL and "expiry_pace" in asked:
        reason = "in one process there are no batches of Spark that expiries could wait for"
        yield Unused("expiry_pace", asked["expiry_pace"], reason)
    if engine == SPARK and "punctuation" in asked and query.expiry.kind == "input_triggered":
        reason = "on Spark every batch with rows brings the time to all operators"
        yield Unused("punctuation", asked["punctuation"], reason)


def require_used(query: Query, given: Collection[str], engine: str) -> None:
    """Refuse settings that were given for just this query, and that it has no use for."""
    for found in unused(query, engine):
        if found.name in given:
            also = f'Give expiry="{found.hint}" as well, or leave' if found.hint else "Leave"
            raise BindError(
                f"{found.name} = {found.value} has no effect on this query",
                detail=f"{found.reason[0].upper()}{found.reason[1:]}.",
                hint=f"{also} {found.name} out; SET is passed over by queries without use for it.",
            )


def require_unset(name: str, given: Mapping[str, object]) -> None:
    """Refuse settings for a query that there is already."""
    if given:
        raise BindError(
            f'"{name}" is a query already, with settings of its own',
            detail=f"It was bound before {', '.join(given)} could be given.",
            hint="Leave settings out to read it, or register its text under another name.",
        )


def require_of_query(name: str, value: object, session: object) -> None:
    """Refuse a setting for one query that all queries of a run share, unless it is so for all."""
    if name in OF_A_RUN and value != session:
        raise BindError(
            f"{name} = {value} cannot be said of one query",
            detail="All queries of a run on Spark share it.",
            hint=f"SET {name} = '{value}' before the run, or leave it out.",
        )
