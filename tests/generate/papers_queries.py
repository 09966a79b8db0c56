"""Random query descriptions for the papers' oracle: few values, many features, plain `random`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.reference.papers.description import (
    Agg,
    Block,
    Col,
    Compare,
    Derived,
    Expr,
    Item,
    Member,
    Order,
    PairBound,
    Plus,
    Query,
    SetOp,
    Source,
    Stream,
    Sub,
    Table,
    Times,
    Window,
    period_of,
)

STREAMS = ("a", "b", "c")
RELATION, NRR = "r", "n"
COLUMNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(STREAMS, ("ts", "k", "v")),
    RELATION: ("k", "w"),
    NRR: ("k", "w"),
}
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10)
COUNTS = (1, 1, 2, 2, 3, 4)
SLIDES = (1, 2, 3, 4, 5)
OPS = ("=", "=", "<>", "<", "<=", ">")
AGGREGATES = ("count*", "count*", "count", "sum", "sum", "min", "max", "avg", "count distinct")


@dataclass(slots=True)
class Choices:
    """Draws decisions; what is drawn is counted by name, and can be forced or banned by name."""

    rng: Random
    forced: frozenset[str] = frozenset()
    banned: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)

    def use(self, feature: str, share: float) -> bool:
        """Decide whether to use a feature."""
        if feature in self.banned:
            return False
        share = max(share, 0.7) if feature in self.forced else share
        if self.rng.random() >= share:
            return False
        self.used.add(feature)
        return True

    def note(self, feature: str) -> None:
        """Count a feature that was chosen in another way."""
        self.used.add(feature)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a block must be like.

    `period` and `step`: the SLIDE of its scope, over time or over rows. `internal`: its windows are
    so. `windowable`: its results may be windowed. `aggregated`: None if it is free. `written`: all
    streams have windows. `width`: how many columns. `view`: it may be ordered, and cut.
    """

    period: int | None = None
    step: int | None = None
    internal: bool = False
    windowable: bool = False
    aggregated: bool | None = None
    written: bool = False
    width: int | None = None
    view: bool = True
    depth: int = 0


@dataclass(slots=True)
class QueryWriter:
    """Writes one query."""

    choices: Choices
    aliases: int = 0

    @property
    def rng(self) -> Random:
        return self.choices.rng

    def query(self, depth: int = 0) -> Query:
        """A whole query, with its output operator."""
        use = self.choices.use
        period = self.rng.choice(SLIDES) if use("slide", 0.3) else None
        step = None
        if period is None and use("rows_slide", 0.12):
            step = self.rng.choice((1, 2, 2, 3))
        if use("internal", 0.22):
            return self._internal(period, step, depth)
        if use("wstream", 0.15):
            return self._wstream(period, step, depth)
        body = self._body(Ask(period, step, depth=depth))
        if use("istream", 0.15):
            return Query(body, "istream", self._restores(body, period))
        if use("dstream", 0.06):
            return Query(body, "dstream")
        if self._restores(body, period):
            return Query(body, "rstream", restore=True)
        return Query(body, self.rng.choice(("view", "view", "view", "rstream")))

    def _restores(self, body: Block | SetOp, period: int | None) -> bool:
        return period is not None and slides(body) and self.choices.use("restore", 0.35)

    def _internal(self, period: int | None, step: int | None, depth: int) -> Query:
        block = self.block(Ask(period, step, internal=True, view=False, depth=depth))
        restore = self._restores(block, period)
        kind = "istream" if restore else self.rng.choice(("view", "view", "view", "istream"))
        return Query(block, kind, restore)

    def _wstream(self, period: int | None, step: int | None, depth: int) -> Query:
        body = self._windowable(period, step, depth)
        return Query(body, "wstream", window=self._output_window())

    def _windowable(
        self, period: int | None, step: int | None, depth: int, *, wstream: bool = True
    ) -> Block | SetOp:
        """A block whose results may be windowed, or UNION ALL of two.

        A side of UNION ALL is no aggregate unless it is INTERNAL: the refreshes that WSTREAM keeps
        are those of a whole query.
        """
        if not self.choices.use("windowed union all", 0.12):
            return self._windowable_block(period, step, depth, wstream=wstream)
        width = self.rng.choice((1, 1, 2))
        sides = [
            Query(self._windowable_block(period, step, depth + 1, wstream=False, width=width))
            for _ in range(2)
        ]
        return SetOp("union", True, sides[0], sides[1])

    def _windowable_block(
        self,
        period: int | None,
        step: int | None,
        depth: int,
        *,
        wstream: bool,
        width: int | None = None,
    ) -> Block:
        """A block whose results may be windowed: aggregates need INTERNAL, or WSTREAM and SLIDE."""
        internal = self.choices.use("internal", 0.2)
        sliding = wstream and (period is not None or step is not None)
        free = internal or sliding
        ask = Ask(
            period,
            step,
            internal=internal,
            windowable=True,
            aggregated=None if free else False,
            width=width,
            view=False,
            depth=depth,
        )
        block = self.block(ask)
        if block.aggregated and not internal and not (slides(block) or counts(block)):
            return self.block(replace(ask, aggregated=False))
        return block

    def _output_window(self) -> Window:
        return self.window(Ask(), internal=False, keys=())

    def _body(self, ask: Ask) -> Block | SetOp:
        if ask.depth < 2 and self.choices.use("setop", 0.12):
            return self._set_operation(ask)
        return self.block(ask)

    def _set_operation(self, ask: Ask) -> SetOp:
        kind = self.rng.choice(("union", "union", "except", "intersect"))
        width = ask.width or self.rng.choice((1, 1, 2))
        inner = replace(ask, width=width, depth=ask.depth + 1, view=False)
        keep_all = self.rng.random() < 0.6
        self.choices.note(f"{kind} all" if keep_all else kind)
        internal = kind == "union" and keep_all
        sides = []
        for _ in range(2):
            if internal and self.choices.use("internal", 0.2):
                sides.append(Query(self.block(replace(inner, internal=True))))
            else:
                sides.append(Query(self.block(inner)))
        return SetOp(kind, keep_all, sides[0], sides[1])

    # ------------------------------------------------------------------ blocks

    def block(self, ask: Ask) -> Block:
        """A SELECT."""
        sources, pairs = self._sources(ask)
        columns = [Col(s.alias, name) for s in sources for name in names_of(s)]
        where = self._conditions(sources)
        members: tuple[Member, ...] = ()
        negation = not ask.windowable and not ask.internal
        unbounded = any(isinstance(s, Stream) and s.window is None for s in sources)
        mixed = has_internal(sources)
        if not ask.internal and not mixed and not unbounded and self.choices.use("member", 0.14):
            members = (self._member(columns, ask, negation=negation),)
        can_group = not (mixed and not ask.internal)
        wanted = self.choices.use("group", 0.3) if ask.aggregated is None else ask.aggregated
        made = Block(sources, (), where, pairs, members)
        if wanted and can_group:
            return self._grouped(made, columns, ask)
        return self._plain(made, columns, ask)

    def _plain(self, block: Block, columns: list[Col], ask: Ask) -> Block:
        width = ask.width or self.rng.choice((1, 1, 2, 2, 3))
        items = tuple(Item(self._expr(columns), f"c{i}") for i in range(1, width + 1))
        if is_beside(block.sources):
            nrr = next(s for s in block.sources if isinstance(s, Table) and not s.retroactive)
            items = (Item(Col(nrr.alias, "w"), "c1"), *items[1:])
        block = replace(block, items=items)
        free = not ask.internal and not ask.windowable and not has_internal(block.sources)
        if free and self.choices.use("distinct", 0.12):
            block = replace(block, distinct=True)
        if not free:
            return block
        outputs = [item.expr for item in items]
        keys = outputs if block.distinct else [*outputs, *map(self._derived_key, columns)]
        return self._ordered(block, keys, outputs, ask)

    def _derived_key(self, col: Col) -> Expr:
        return self.rng.choice((col, col, Times(col, -1), Plus(col, 1)))

    def _ordered(
        self, block: Block, keys: list[Expr | Agg], outputs: list[Expr | Agg], ask: Ask
    ) -> Block:
        """ORDER BY, with LIMIT; without it only at the top, by what is selected."""
        if self.choices.use("limit", 0.12):
            order = tuple(Order(self.rng.choice(keys), self.rng.random() < 0.5) for _ in range(1))
            if any(o.expr not in outputs for o in order):
                self.choices.note("hidden order")
            offset = 1 if self.rng.random() < 0.15 else 0
            return replace(block, order=order, limit=self.rng.choice((1, 2, 3)), offset=offset)
        if ask.view and ask.depth == 0 and self.choices.use("order", 0.08):
            order = (Order(self.rng.choice(outputs), self.rng.random() < 0.5),)
            return replace(block, order=order)
        return block

    def _grouped(self, block: Block, columns: list[Col], ask: Ask) -> Block:
        values = [c for c in columns if c.name != "ts"] or columns
        group = tuple(
            dict.fromkeys(self.rng.choice(values) for _ in range(self.rng.choice((0, 1, 1))))
        )
        aggs = [self._aggregate(values) for _ in range(2)]
        shown: list[Expr | Agg] = list(group) if self.rng.random() < 0.8 else []
        shown += aggs[: self.rng.choice((1, 1, 2))]
        width = ask.width or len(shown)
        while len(shown) < width:
            shown.append(self._aggregate(values))
        items = tuple(Item(expr, f"c{i}") for i, expr in enumerate(shown[:width], 1))
        if not any(isinstance(i.expr, Agg) for i in items) and not group:
            items = (*items[:-1], Item(aggs[0], items[-1].name))
        having: tuple[Compare, ...] = ()
        if self.choices.use("having", 0.15):
            having = (
                Compare(self.rng.choice(aggs), self.rng.choice(OPS), self.rng.choice((1, 2))),
            )
        block = replace(block, items=items, group=group, having=having)
        if ask.internal or ask.windowable:
            return block
        outputs = [item.expr for item in items]
        return self._ordered(block, [*outputs, *aggs], outputs, ask)

    def _aggregate(self, columns: list[Col]) -> Agg:
        function = self.rng.choice(AGGREGATES)
        return Agg("count") if function == "count*" else Agg(function, self.rng.choice(columns))

    def _expr(self, columns: list[Col]) -> Expr:
        values = [c for c in columns if c.name != "ts"] or columns
        col = self.rng.choice(columns if self.rng.random() < 0.12 else values)
        return Plus(col, 1) if self.rng.random() < 0.08 else col

    # ------------------------------------------------------------------ FROM

    def _sources(self, ask: Ask) -> tuple[tuple[Source, ...], tuple[PairBound, ...]]:
        count = 1
        if self.choices.use("join", 0.5):
            count = 3 if self.choices.use("join of three", 0.2) else 2
        if count > 1 and not ask.written and self.choices.use("pair bound", 0.1):
            return self._bounded(count, ask)
        written = ask.written or count > 1
        mixed = ask.internal is False and not ask.windowable and count > 1
        mixed = mixed and ask.depth == 0 and self.choices.use("mixed", 0.06)
        if mixed:
            return self._mixed(ask), ()
        if count > 1 and self.choices.use("nrr beside relation", 0.1):
            return self._beside(ask), ()
        sources = [self._source(ask, first=i == 0, written=written) for i in range(count)]
        if ask.internal and not any(isinstance(s, Stream | Derived) for s in sources):
            sources[0] = self._stream(ask, written=written)
        return tuple(sources), ()

    def _beside(self, ask: Ask) -> tuple[Source, ...]:
        """A stream with a relation and an NRR: which version of one meets a row of the other?"""
        stream = self._stream(ask, written=True)
        if ask.period is None and ask.step is None and self.rng.random() < 0.6:
            window = self.rng.choice((Window("range", 10), Window("rows", 3), Window("range", 15)))
            stream = replace(stream, window=replace(window, internal=ask.internal))
        relation = Table(RELATION, self._alias())
        return stream, relation, Table(NRR, self._alias(), retroactive=False)

    def _source(self, ask: Ask, *, first: bool, written: bool) -> Source:
        use = self.choices.use
        if use("relation", 0.05 if first else 0.25):
            return Table(RELATION, self._alias())
        if not first and use("nrr", 0.25):
            return Table(NRR, self._alias(), retroactive=False)
        if ask.depth < 2 and use("derived", 0.12):
            return self._derived(ask, written=written)
        if ask.depth < 2 and not ask.internal and use("sub", 0.1):
            return self._sub(ask)
        return self._stream(ask, written=written)

    def _stream(self, ask: Ask, *, written: bool) -> Stream:
        name, alias = self.rng.choice(("a", "a", "b", "c")), self._alias()
        if not written and not ask.internal and self.rng.random() < 0.05:
            return Stream(name, alias)
        return Stream(name, alias, self.window(ask, internal=ask.internal, keys=("k", "v")))

    def _derived(self, ask: Ask, *, written: bool) -> Derived:
        if ask.depth:
            self.choices.note("derived twice")
        period = self.rng.choice(SLIDES) if self.choices.use("slide", 0.25) else None
        step = self.rng.choice((1, 2)) if period is None and self.rng.random() < 0.15 else None
        if self.choices.use("istream", 0.12):
            inner = Ask(period, step, depth=ask.depth + 1, view=False)
            body = self.block(inner)
            query = Query(body, "istream", self._restores(body, period))
        elif self.choices.use("wstream", 0.08):
            query = self._wstream(period, step, ask.depth + 1)
        else:
            query = Query(self._windowable(period, step, ask.depth + 1, wstream=False))
        window = self.window(ask, internal=ask.internal, keys=query.columns)
        return Derived(query, self._alias(), window)

    def _sub(self, ask: Ask) -> Sub:
        inner = Ask(
            ask.period,
            ask.step,
            windowable=ask.windowable,
            aggregated=False if ask.windowable else None,
            written=True,
            view=False,
            depth=ask.depth + 1,
        )
        if not ask.windowable and self.choices.use("wstream", 0.1):
            return Sub(self._wstream(None, None, ask.depth + 1), self._alias())
        body = self.block(inner) if ask.windowable else self._body(inner)
        return Sub(Query(body), self._alias())

    def _mixed(self, ask: Ask) -> tuple[Source, ...]:
        inside = self._stream(replace(ask, internal=True, step=None), written=True)
        outside = self._stream(ask, written=True)
        kind = "range" if ask.period is None or self.rng.random() < 0.5 else "slide"
        slide = ask.period if kind == "slide" else None
        outside = replace(outside, window=Window("range", self.rng.choice(WIDTHS), slide))
        sources: list[Source] = [inside, outside]
        if self.choices.use("relation", 0.15):
            sources.append(Table(RELATION, self._alias()))
        if self.choices.use("nrr", 0.15):
            sources.append(Table(NRR, self._alias(), retroactive=False))
        return tuple(sources)

    def _bounded(self, count: int, ask: Ask) -> tuple[tuple[Source, ...], tuple[PairBound, ...]]:
        streams: list[Source] = []
        for _ in range(count):
            bare = Stream(self.rng.choice(STREAMS), self._alias())
            windowed = self.rng.random() < 0.3 or (ask.internal and not streams)
            streams.append(self._stream(ask, written=True) if windowed else bare)
        width = self.rng.choice(WIDTHS)
        if count > 2 or self.rng.random() < 0.3:
            return tuple(streams), (PairBound(width),)
        left, right = (s.alias for s in streams)
        return tuple(streams), (PairBound(width, left, right, self.rng.random() < 0.4),)

    def window(self, ask: Ask, *, internal: bool, keys: tuple[str, ...]) -> Window:
        """A window; in a scope with a SLIDE mostly one that slides."""
        rng = self.rng
        if ask.period is not None and rng.random() < 0.7:
            if not internal and rng.random() < 0.25:
                return Window("tumble", ask.period)
            return Window("range", rng.choice(WIDTHS), ask.period, internal)
        if ask.step is not None and rng.random() < 0.7:
            return Window("rows", rng.choice(COUNTS), ask.step, internal)
        kinds = ["range"] * 4 + ["rows"] * 3 + ["now"]
        kinds += ["partition"] if keys else []
        kinds += ["unbounded", "since"] if not internal else []
        if internal and self.choices.use("unbounded internal", 0.05):
            return Window("unbounded", internal=True)
        kind = rng.choice(kinds)
        self.choices.note(f"[{kind}{' internal' if internal else ''}]")
        match kind:
            case "range":
                return Window("range", rng.choice(WIDTHS), internal=internal)
            case "rows":
                return Window("rows", rng.choice(COUNTS), internal=internal)
            case "partition":
                return Window(
                    "partition", rng.choice(COUNTS), internal=internal, key=rng.choice(keys)
                )
            case "since":
                return Window("since", rng.choice((0, 4, 8)))
            case _:
                return Window(kind, internal=internal)

    def _alias(self) -> str:
        self.aliases += 1
        return f"s{self.aliases}"

    # ------------------------------------------------------------------ WHERE

    def _conditions(self, sources: tuple[Source, ...]) -> tuple[Compare, ...]:
        terms: list[Compare] = []
        for i, source in enumerate(sources[1:], 1):
            other = sources[self.rng.randrange(i)]
            if self.rng.random() < (0.4 if is_beside(sources) else 0.85):
                equal = self.rng.random() < 0.85
                op = "=" if equal else self.rng.choice(OPS)
                terms.append(Compare(self._value(other), op, self._value(source)))
        if self.choices.use("filter", 0.2):
            source = self.rng.choice(sources)
            op = self.rng.choice(OPS)
            terms.append(Compare(self._value(source), op, self.rng.choice((0, 1, 2))))
        return tuple(terms)

    def _value(self, source: Source) -> Col:
        names = [n for n in names_of(source) if n != "ts"]
        weights = [3] + [1] * (len(names) - 1)
        return Col(source.alias, self.rng.choices(names, weights)[0])

    def _member(self, columns: list[Col], ask: Ask, *, negation: bool) -> Member:
        inner_ask = replace(
            ask, internal=False, windowable=False, written=True, depth=2, view=False, width=1
        )
        negated = negation and self.rng.random() < 0.6
        values = [c for c in columns if c.name != "ts"] or columns
        outer = self.rng.choice(values)
        if self.rng.random() < 0.4:
            self.choices.note("not in" if negated else "in")
            inner = self._inner(inner_ask, grouped=self.rng.random() < 0.2)
            return Member(inner, negated, outer)
        self.choices.note("not exists" if negated else "exists")
        inner = self._inner(inner_ask, grouped=False)
        own = self._value(inner.sources[0])
        op = "=" if self.rng.random() < 0.85 else self.rng.choice(OPS)
        return Member(replace(inner, where=(*inner.where, Compare(own, op, outer))), negated)

    def _inner(self, ask: Ask, *, grouped: bool) -> Block:
        if self.choices.use("relation", 0.15):
            sources: tuple[Source, ...] = (Table(RELATION, self._alias()),)
        else:
            sources = (self._stream(ask, written=True),)
        columns = [Col(s.alias, name) for s in sources for name in names_of(s) if name != "ts"]
        block = Block(sources, (Item(self.rng.choice(columns), "c1"),))
        if not grouped:
            return block
        key = self.rng.choice(columns)
        having = (Compare(Agg("count"), ">", 1),)
        return replace(block, items=(Item(key, "c1"),), group=(key,), having=having)


def names_of(source: Source) -> tuple[str, ...]:
    """The columns of a source."""
    return COLUMNS[source.name] if isinstance(source, Stream | Table) else source.query.columns


def has_internal(sources: tuple[Source, ...]) -> bool:
    """Whether any source has an internal window."""
    return any(isinstance(s, Stream | Derived) and s.window and s.window.internal for s in sources)


def is_beside(sources: tuple[Source, ...]) -> bool:
    """Whether an NRR stands beside a relation."""
    kinds = [s.retroactive for s in sources if isinstance(s, Table)]
    return len(set(kinds)) == 2 and kinds[-1] is False


def slides(body: Block | SetOp) -> bool:
    """Whether a window of the body's scope slides over time."""
    return period_of(body) is not None


def counts(block: Block) -> bool:
    """Whether all sources but relations are windows that slide over rows."""
    streams = [s for s in block.sources if not isinstance(s, Table)]
    return bool(streams) and all(
        isinstance(s, Stream | Derived)
        and s.window is not None
        and s.window.kind == "rows"
        and s.window.slide
        for s in streams
    )
