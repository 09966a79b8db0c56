"""Settings: what SET can change, and what each may be."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.errors import BindError, Span
from windrow.plan.binding.scope import near


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name, what it does, its default and, if they are few, its values."""

    name: str
    meaning: str
    default: object
    values: tuple[object, ...] = ()


_ALL = (
    Setting(
        "bare_words",
        "what an unknown bare word in an expression is: an error, or a string constant",
        "error",
        ("error", "strings"),
    ),
    Setting(
        "strategy",
        "how tuples expire",
        "auto",
        ("auto", "upa", "direct", "negative"),
    ),
    Setting(
        "join_algorithm",
        "what joins streams: a tree of binary joins, or one operator for all of them",
        "auto",
        ("auto", "tree", "hash", "loops", "naive", "nested_w", "hash_w", "merge_w"),
    ),
    Setting(
        "partials",
        "whether Spark merges the tuples of a pane and group before they are moved",
        "auto",
        ("auto", "on", "off"),
    ),
)

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
    kept = value.lower() if isinstance(value, str) else value
    if setting.values and kept not in setting.values:
        raise BindError(
            f"{setting.name} cannot be {value}",
            detail=f"It says {setting.meaning}.",
            hint=f"Write one of {', '.join(str(v) for v in setting.values)}.",
        )
    return kept


def checked_algorithm(name: str) -> str:
    """Return what joins streams as it is kept; refuse what is no algorithm."""
    return str(check_setting("join_algorithm", name))
