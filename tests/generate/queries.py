"""Whole random queries as CQL text over the catalogue, legal by construction.

`queries()` is the strategy. What makes a query legal is decided before its text is drawn: the
one SLIDE of a refresh scope, which sources need a written window, where INTERNAL may stand, what
may be windowed. Every choice lists the simplest first, so that examples shrink to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random

from hypothesis import strategies as st
from tests.generate.catalog import NRR, RELATION, RELATION_COLUMNS, STREAM_COLUMNS, STREAMS
from tests.generate.choices import Ask, Choices, Source, of_sort, where
from tests.generate.expressions import Col, aggregate, choose, expression
from tests.generate.grammar import OUTPUTS, grammar
from tests.generate.selecting import ROBUST, grouped_select, ordering, plain_select
from tests.generate.windows import (
    UNBOUNDED,
    WIDTHS,
    Refresh,
    internal_window,
    output_window,
    refresh_scope,
    window,
    window_kinds,
)

TELLING = ("range", "now", "slide", "tumble")
"""Windows whose tuples know when they leave: the only ones that may stand beside INTERNAL."""


@st.composite
def queries(draw: st.DrawFn, **knobs: object) -> str:
    """Draw a query's text; the knobs are those of `grammar`."""
    choices = Choices(lambda n: draw(st.integers(0, n - 1)), grammar(**knobs))  # type: ignore[arg-type]
    return QueryWriter(choices).query()


def random_query(seed: int, **knobs: object) -> str:
    """Return the text of the query that a seed makes: for search without Hypothesis."""
    choices = Choices(Random(seed).randrange, grammar(**knobs))  # type: ignore[arg-type]
    return QueryWriter(choices).query()


@dataclass(frozen=True, slots=True)
class Body:
    """A drawn body: its text and the columns that it gives."""

    text: str
    columns: tuple[Col, ...]


@dataclass(slots=True)
class Block:
    """Decisions about a SELECT block, made before its text is drawn."""

    ask: Ask
    refresh: Refresh
    depth: int
    style: str  # of its windows: "external", "internal" or "mixed"
    predicates: tuple[str, ...] = ()
    bands: tuple[str, ...] = ()
    outer: tuple[str, ...] = ()  # the join that each source is right of; "" for a comma
    sources: list[Source] = field(default_factory=list)

    @property
    def columns(self) -> list[Col]:
        """All columns in sight."""
        return [column for source in self.sources for column in source.columns]


@dataclass(slots=True)
class QueryWriter:
    """Draws one query, top down."""

    choices: Choices
    named: Source | None = None

    # ------------------------------------------------------------------ outputs

    def query(self) -> str:
        """Draw the whole query."""
        choices = self.choices
        outputs = [o for o in OUTPUTS if o in choices.grammar.outputs]
        output = choices.pick([o for o in outputs if o == "view"] * 3 + outputs)
        nests = choices.has("windowed subquery") and choices.has("group")
        if output == "view" and nests and choices.chance(1):
            return self.nested_wstream()
        head = self.with_clause() if choices.has("with") and choices.chance(1) else ""
        refresh = refresh_scope(choices, time=output == "restore")
        if output == "wstream":
            body = self.windowed_body(refresh, choices.grammar.depth)
            return f"WSTREAM({head}{body.text}){output_window(choices, body.columns)}"
        ask = Ask(
            internal=output not in ("restore", "dstream"), named=choices.chance(5), relations=True
        )
        text = head + self.body(ask, refresh, choices.grammar.depth).text
        if output == "restore":
            ending = " RESTORE" if refresh.slides else ""
            return f"{choices.pick(['ISTREAM', 'RSTREAM'])}({text}){ending}"
        return text if output == "view" else f"{output.upper()}({text})"

    def windowed_body(self, refresh: Refresh, depth: int) -> Body:
        """Draw what WSTREAM takes: an aggregate, or a body whose insertions may be windowed.

        An aggregate is kept from each refresh, or, where its windows are INTERNAL, each change.
        """
        sliding = "slide" in self.choices.grammar.windows and refresh.time is not None
        keeps = sliding or "internal" in self.choices.grammar.windows
        aggregated = keeps and self.choices.has("group") and self.choices.chance(5)
        ask = Ask(aggregated=True, order=False) if aggregated else Ask(windowable=True)
        return self.body(ask, refresh, depth)

    def nested_wstream(self) -> str:
        """Draw ``SUM(WSTREAM(SUM(v))[...])``: all its windows are bounded and become INTERNAL."""
        choices = self.choices
        refresh = refresh_scope(choices)
        kinds = [k for k in window_kinds(choices, refresh) if k not in UNBOUNDED]
        source = self.stream(kinds or ["range"], refresh)
        inner = aggregate(choices.below, source.columns, ROBUST, "int")
        outer = choices.pick(["SUM", "COUNT", "MAX", "AVG"])
        terms = [choices.condition(source.columns)] if choices.chance(3) else []
        kept = output_window(choices, [])
        return f"SELECT {outer}(WSTREAM({inner.text}){kept}) FROM {source.text}{where(terms)}"

    def with_clause(self) -> str:
        """Draw a named query; the outermost FROM may use it."""
        ask = Ask(internal=False, windowable=True, order=False, negation=False, written=True)
        body = self.block(ask, Refresh(), 0)
        name = self.choices.alias("w")
        columns = tuple(replace(c, text=f"{name}.{c.text}") for c in body.columns)
        self.named = Source(name, name, columns, "query")
        return f"WITH {name} AS ({body.text}) "

    # ------------------------------------------------------------------ bodies

    def body(self, ask: Ask, refresh: Refresh, depth: int) -> Body:
        """Draw a block, or a set operation of two."""
        offered = self.choices.offered
        kinds = offered("union all", "intersect all")
        if not ask.windowable:
            kinds += offered("union", "intersect")
            kinds += offered("except", "except all") if ask.negation else []
        whole = ask.aggregated or (self.named is not None and depth == self.choices.grammar.depth)
        if kinds and not whole and self.choices.wants(2):
            return self.set_operation(self.choices.pick(kinds).upper(), ask, refresh)
        return self.block(ask, refresh, depth)

    def set_operation(self, word: str, ask: Ask, refresh: Refresh) -> Body:
        """Draw two blocks with columns of the same sorts, and the operation between them."""
        sorts = ask.sorts or ("int",)
        if not ask.sorts and not self.choices.grammar.keep_ids:
            sorts = tuple(self.choices.some(["int", "text", "real", "bool"], 1, 2))
        internal = ask.internal and word == "UNION ALL"
        arm = replace(ask, sorts=sorts, named=True, order=False, internal=internal)
        left, right = self.block(arm, refresh, 0), self.block(arm, refresh, 0)
        cut = ordering(self.choices, left.columns, []) if self.cuttable(ask) else ""
        return Body(f"{left.text} {word} {right.text}{cut}", left.columns)

    @staticmethod
    def cuttable(ask: Ask) -> bool:
        return ask.order and not ask.windowable

    # ------------------------------------------------------------------ blocks

    def block(self, ask: Ask, refresh: Refresh, depth: int) -> Body:
        """Draw SELECT ... FROM ... WHERE ... and what follows."""
        choices = self.choices
        block = Block(ask, refresh, depth, self.style(ask, refresh))
        groupable = choices.has("group") and not ask.windowable and block.style != "mixed"
        grouped = ask.aggregated or (groupable and choices.wants(3))
        replaces = not ask.windowable and block.style == "external"
        distinct = replaces and choices.has("distinct") and choices.wants(2)
        block.predicates = self.predicate_kinds(block)
        self.draw_sources(block)
        self.draw_outer_joins(block)
        terms = [*self.join_terms(block), *block.bands]
        terms += [self.predicate(kind, block) for kind in block.predicates]
        selected = (grouped_select if grouped else plain_select)(choices, ask, block.columns)
        free = [] if grouped or distinct else block.columns
        cut = ordering(choices, selected.columns, free) if ask.order and replaces else ""
        sources = self.joined_sources(block)
        head = f"SELECT {'DISTINCT ' if distinct else ''}{selected.items} FROM {sources}"
        return Body(head + where(terms) + selected.tail + cut, selected.columns)

    def style(self, ask: Ask, refresh: Refresh) -> str:
        choices = self.choices
        if ask.aggregated:
            return "internal" if refresh.time is None else "external"
        if not ask.internal or "internal" not in choices.grammar.windows or not choices.chance(1):
            return "external"
        return choices.pick(["mixed", "internal"])

    def predicate_kinds(self, block: Block) -> tuple[str, ...]:
        """Choose the sub-query predicates of WHERE: none, one or two."""
        # below an NRR no tuple's time may hang on another's
        free = block.ask.negation or not self.choices.offered("nrr")
        kinds = self.choices.offered("exists", "in") if free else []
        if block.ask.negation and not block.ask.windowable:
            kinds += self.choices.offered("not exists", "not in")
        if not kinds or block.style != "external" or not self.choices.wants(2):
            return ()
        return tuple(self.choices.some(kinds, 1, 2))

    # ------------------------------------------------------------------ FROM

    def draw_sources(self, block: Block) -> None:
        """Draw the items of FROM: at least one stream or sub-query, or a relation alone."""
        choices = self.choices
        partners = choices.offered("join", "theta", "band", "relation", "nrr")
        more = choices.few_more() or int(choices.grammar.eager and bool(partners))
        count = min(1 + more, choices.grammar.max_sources)
        if choices.grammar.keep_ids and block.ask.sorts:
            count = 1
        kinds = [self.first_kind(block, alone=count == 1 and not block.predicates)]
        kinds += [choices.pick(self.partner_kinds(kinds)) for _ in range(count - 1)]
        tied = self.band_everywhere(block, kinds)
        alone = sum(kind != "nrr" for kind in kinds) == 1 or bool(tied)
        written = block.ask.written or not alone or bool(block.predicates)
        for position, kind in enumerate(kinds):
            internal = block.style == "internal" or (block.style == "mixed" and position == 0)
            block.sources.append(self.source(kind, block, written=written, internal=internal))
        block.bands = tied or self.bands(block.sources)

    def first_kind(self, block: Block, *, alone: bool) -> str:
        choices = self.choices
        simple = block.style == "external" and not block.ask.aggregated
        outermost = self.named is not None and block.depth == choices.grammar.depth
        if outermost and simple and choices.chance(7):
            return "named"
        kinds = ["stream"] * (1 if choices.grammar.eager else 6)
        if block.depth > 0 and not block.ask.aggregated:
            kinds += choices.offered("windowed subquery")
            if block.style == "external":
                kinds += choices.offered("subquery", "stream subquery")
        if alone and simple and block.ask.relations and not choices.grammar.keep_ids:
            kinds += choices.offered("relation")
        return choices.pick(kinds)

    def partner_kinds(self, kinds: list[str]) -> list[str]:
        joins = self.choices.offered("join", "theta", "band")
        found = ["stream"] * 3 if joins else []
        return found + self.choices.offered("relation", "nrr") or ["stream"]

    def source(self, kind: str, block: Block, *, written: bool, internal: bool) -> Source:
        match kind:
            case "stream":
                kinds = self.source_windows(block, written=written)
                return self.stream(kinds, block.refresh, internal=internal)
            case "relation":
                return self.base(RELATION, RELATION_COLUMNS, "relation")
            case "nrr":
                return self.base(NRR, RELATION_COLUMNS, "nrr")
            case "named":
                assert self.named is not None
                return self.named
            case "subquery":
                joins_nrr = bool(self.choices.offered("nrr"))
                ask = Ask(
                    windowable=block.ask.windowable,
                    internal=False,
                    negation=block.ask.negation and not joins_nrr,
                    written=written,
                )
                return self.query_source(self.body(ask, block.refresh, block.depth - 1))
            case "stream subquery":
                return self.stream_subquery(block, written=written)
            case _:
                return self.windowed_subquery(block, internal=internal)

    def source_windows(self, block: Block, *, written: bool) -> list[str]:
        """The windows that a source of the block may have."""
        kinds = window_kinds(self.choices, block.refresh, written=written)
        if block.style == "mixed":
            kinds = [k for k in kinds if k in TELLING] or ["range"]
        if block.ask.aggregated and block.style == "external" and not block.sources:
            kinds = ["slide"]
        return kinds

    def base(self, name: str, columns: dict[str, str], kind: str, spec: str = "") -> Source:
        alias = self.choices.alias(name)
        text = name if alias == name else f"{name} AS {alias}"
        solid = ("id", "ts") if kind == "stream" else ()
        made = tuple(Col(f"{alias}.{n}", s, n not in solid) for n, s in columns.items())
        return Source(text + (f" [{spec}]" if spec else ""), alias, made, kind)

    def stream(self, kinds: Sequence[str], refresh: Refresh, *, internal: bool = False) -> Source:
        name = self.choices.pick(STREAMS)
        columns = [Col(c, s) for c, s in STREAM_COLUMNS.items()]
        spec = (internal_window if internal else window)(self.choices, kinds, columns, refresh)
        return self.base(name, STREAM_COLUMNS, "stream", spec)

    def query_source(self, body: Body, spec: str = "", wrap: str = "{}") -> Source:
        alias = self.choices.alias("q")
        columns = tuple(replace(c, text=f"{alias}.{c.text}") for c in body.columns)
        tail = f" [{spec}]" if spec else ""
        return Source(f"({wrap.format(body.text)}) AS {alias}{tail}", alias, columns, "query")

    def stream_subquery(self, block: Block, *, written: bool) -> Source:
        """Draw a sub-query that is a stream, seen as all of it so far, or as WSTREAM's window."""
        refresh = refresh_scope(self.choices)
        word = self.choices.pick(["WSTREAM"] if written else ["ISTREAM", "DSTREAM", "WSTREAM"])
        if word == "WSTREAM":
            body = self.windowed_body(refresh, block.depth - 1)
            wrap = f"WSTREAM({{}}){output_window(self.choices, body.columns)}"
            return self.query_source(body, wrap=wrap)
        body = self.body(Ask(internal=word == "ISTREAM"), refresh, block.depth - 1)
        return self.query_source(body, wrap=f"{word}({{}})")

    def windowed_subquery(self, block: Block, *, internal: bool) -> Source:
        """Draw a window over the insertions, or the deletions, of a sub-query."""
        choices, depth = self.choices, block.depth - 1
        refresh = refresh_scope(choices)
        word = choices.pick(["", "ISTREAM", "DSTREAM", "RESTORE"])
        ask = Ask(windowable=True) if word == "" else Ask(internal=word == "ISTREAM")
        body = self.body(ask, refresh, depth)
        wrap = f"{word}({{}})" if word else "{}"
        if word == "RESTORE":
            wrap = "ISTREAM({})" + (" RESTORE" if refresh.slides else "")
        kinds = self.source_windows(block, written=True)
        drawn = (internal_window if internal else window)(
            choices, kinds, body.columns, block.refresh
        )
        return self.query_source(body, drawn, wrap)

    # ------------------------------------------------------------------ WHERE

    def join_terms(self, block: Block) -> list[str]:
        """Draw what ties each source to those before it, and filters."""
        choices = self.choices
        kinds = choices.offered("join") * 6 + choices.offered("theta")
        terms = []
        for position, source in enumerate(block.sources[1:], 1):
            before = [c for s in block.sources[:position] for c in s.columns]
            if block.outer[position] and not choices.chance(1):
                continue
            if kinds and not (block.bands and choices.chance(3)):
                terms.append(choices.tie(before, source.columns, choices.pick(kinds)))
        if choices.has("filter"):
            terms += [choices.condition(block.columns) for _ in range(choices.few_more())]
        return terms

    def draw_outer_joins(self, block: Block) -> None:
        """Choose which sources are right of an outer join; NULLs may stand for those it may miss.

        No tuple of an outer join may be INTERNAL, windowed again, or looked up in an NRR.
        """
        choices = self.choices
        plain = block.style == "external" and not block.ask.windowable and block.ask.negation
        free = plain and not block.bands and all(s.kind != "nrr" for s in block.sources)
        sides = ["LEFT", "RIGHT", "FULL"] if free and choices.has("outer join") else []
        drawn = [""] * len(block.sources)
        for position in range(1, len(drawn)):
            if sides and choices.wants(3):
                drawn[position] = choices.pick(sides)
                block.sources = [
                    replace(s, columns=tuple(replace(c, nullable=True) for c in s.columns))
                    for s in block.sources
                ]
        block.outer = tuple(drawn)

    def joined_sources(self, block: Block) -> str:
        """Write FROM: commas and outer joins, whose ON may say anything of what stands before."""
        choices, text = self.choices, block.sources[0].text
        begin = 0
        for position, source in enumerate(block.sources[1:], 1):
            side = block.outer[position]
            if not side:
                text, begin = f"{text}, {source.text}", position
                continue
            before = [c for s in block.sources[begin:position] for c in s.columns]
            kinds = choices.offered("join") * 6 + choices.offered("theta") or ["join"]
            terms = [choices.tie(before, source.columns, choices.pick(kinds))]
            terms += [
                choices.condition([*before, *source.columns]) for _ in range(choices.few_more())
            ]
            text += f" {side} JOIN {source.text} ON {' AND '.join(terms)}"
        return text

    def band_everywhere(self, block: Block, kinds: list[str]) -> tuple[str, ...]:
        """Draw ``WINDOW = w`` for sources that are streams all, so that no window is needed."""
        streams = len(kinds) > 1 and set(kinds) == {"stream"} and block.style == "external"
        if not (streams and self.choices.has("band") and self.choices.wants(2)):
            return ()
        return (f"WINDOW = {self.choices.pick(WIDTHS)}",)

    def bands(self, sources: Sequence[Source]) -> tuple[str, ...]:
        """Draw WINDOW or DWINDOW on a pair of streams."""
        choices = self.choices
        pairs = list(combinations([s.alias for s in sources if s.kind == "stream"], 2))
        if not pairs or not choices.has("band") or not choices.wants(2):
            return ()
        left, right = choose(choices.below, pairs)
        word = choices.pick(["WINDOW", "DWINDOW"])
        return (f"{word}({left}, {right}) = {choices.pick(WIDTHS)}",)

    # ------------------------------------------------------------------ sub-query predicates

    def predicate(self, kind: str, block: Block) -> str:
        """Draw ``[NOT] EXISTS (...)`` or ``value [NOT] IN (...)``."""
        if kind.endswith("exists"):
            return f"{kind.upper()} ({self.exists(block)})"
        value, inner = self.membership(kind, block)
        return f"{value} {kind.upper()} ({inner})"

    def exists(self, block: Block) -> str:
        if self.choices.chance(1):
            return self.body(self.uncorrelated(block), block.refresh, 0).text
        inner = self.inner(block)
        terms = self.correlation(block, inner) if not self.choices.chance(1) else []
        return f"SELECT * FROM {inner.text}{where(terms)}"

    def membership(self, kind: str, block: Block) -> tuple[str, str]:
        """Draw a value and the sub-query in which it is looked for."""
        choices = self.choices
        solid = [c.text for c in block.columns if not c.nullable]
        if kind == "not in" and solid and choices.chance(3):
            return choices.pick(solid), self.solid_members(block)
        sort = choices.pick([s for s in ("int", "text") if of_sort(block.columns, s)] or ["int"])
        value = choices.side(block.columns, sort)
        if choices.chance(2):
            return value, self.body(self.uncorrelated(block, sort), block.refresh, 0).text
        inner = self.inner(block)
        terms = []
        if choices.chance(3):
            terms = (
                self.correlation(block, inner)
                if kind == "in"
                else [choices.condition(inner.columns)]
            )
        item = expression(choices.below, inner.columns, sort)
        return value, f"SELECT {item} FROM {inner.text}{where(terms)}"

    @staticmethod
    def uncorrelated(block: Block, *sorts: str) -> Ask:
        """What is asked of a sub-query that stands in WHERE and does not look outwards."""
        around = block.ask
        return Ask(
            sorts or None,
            windowable=around.windowable,
            internal=False,
            negation=around.negation,
            written=True,
        )

    def solid_members(self, block: Block) -> str:
        """Draw a correlated sub-query of ids: without NULLs about, NOT IN may have one."""
        inner = self.stream(window_kinds(self.choices, block.refresh), block.refresh)
        terms = self.correlation(block, inner)
        return f"SELECT {inner.alias}.id FROM {inner.text}{where(terms)}"

    def inner(self, block: Block) -> Source:
        """Draw the source of a sub-query predicate."""
        if self.choices.has("relation") and self.choices.chance(1):
            return self.base(RELATION, RELATION_COLUMNS, "relation")
        return self.stream(window_kinds(self.choices, block.refresh), block.refresh)

    def correlation(self, block: Block, inner: Source) -> list[str]:
        """Draw terms that tie the sub-query to the block around it."""
        choices = self.choices
        terms = [choices.tie(block.columns, inner.columns, choices.pick(["join"] * 5 + ["theta"]))]
        if choices.chance(2):
            terms.append(choices.condition([*block.columns, *inner.columns]))
        return terms
