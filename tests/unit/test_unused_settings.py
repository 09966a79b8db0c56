"""Settings that a query has no use for: told if SET said them, refused if it was given them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from tests.unit.expiry_stories import DECLARATIONS

from windrow.cli.main import windrow
from windrow.core.errors import BindError
from windrow.runtime.local.database import Database
from windrow.runtime.spark.database import SparkDatabase


class TestWithoutEffect:
    """What SET says is for all queries; one that has no use for it says so."""

    SETS = (
        ("hold = 3", "hold", "hold = 3 has no effect: the query has no negation"),
        ("join_messages = 'on'", "join_messages", "join_messages = on has no effect: under expiry"),
        ("punctuation = 3", "punctuation", "punctuation = 3 has no effect: under expiry auto"),
        ("expiry_pace = 7", "expiry_pace", "expiry_pace = 7 has no effect: in one process"),
        ("partials = 'off'", "partials", "partials = off has no effect: no rows are moved"),
    )

    @pytest.mark.parametrize(("said", "name", "told"), SETS)
    def test_it_is_told(self, said: str, name: str, told: str) -> None:
        db = Database()
        db.execute(f"{DECLARATIONS} SET {said}")
        query = db.query("SELECT k FROM s [RANGE 5]")
        assert any(line.startswith(told) for line in query.explain().splitlines())
        assert list(query.stats()["without_effect"]) == [name]

    def test_what_has_an_effect_is_not_told(self) -> None:
        db = Database()
        db.execute(f"{DECLARATIONS} SET hold = 3; SET expiry = 'input_triggered'")
        db.execute("SET punctuation = 3")
        text = "SELECT k FROM s [RANGE 5] EXCEPT SELECT k FROM s [RANGE 3]"
        query = db.query(text)
        assert query.stats()["without_effect"] == {}
        assert "no effect" not in query.explain()
        assert db.query(text, expiry="negative", join_messages="on").stats()["without_effect"] == {
            "punctuation": "under expiry negative operators learn of time without it"
        }

    def test_a_contradiction_is_refused_wherever_it_was_said(self) -> None:
        db = Database()
        db.execute(f"{DECLARATIONS} SET join_messages = 'off'; SET expiry = 'piggyback'")
        text = "SELECT k FROM s [RANGE 5]"
        for how in ({}, {"expiry": "piggyback"}, {"join_messages": "off"}):
            with pytest.raises(BindError, match="cannot go with join_messages off") as refused:
                db.query(text, **how)
            assert refused.value.detail
            assert "SET expiry = 'negative'" in refused.value.hint
        with pytest.raises(BindError, match="cannot go with join_messages off"):
            db.execute(f"CREATE QUERY q AS {text}")
        assert db.query(text, expiry="negative").stats()["expiry"] == "negative"

    def test_the_next_step_is_told(self) -> None:
        db = Database()
        db.execute(DECLARATIONS)
        with pytest.raises(BindError) as refused:
            db.query("SELECT k FROM s [RANGE 5]", punctuation=3)
        assert refused.value.detail == "Under expiry auto operators learn of time without it."
        assert refused.value.hint.startswith('Give expiry="input_triggered" as well, or leave')

    def test_a_query_that_runs_takes_no_settings(self) -> None:
        db = Database()
        db.execute(f"{DECLARATIONS} CREATE QUERY q AS SELECT k FROM s [RANGE 5]")
        assert db.query("q", hold=None).name == "q"
        for how in ({"expiry": "negative"}, {"strategy": "direct"}):
            with pytest.raises(BindError, match="is a query already"):
                db.query("Q", **how)

    def test_a_snapshot_has_its_own_expiry(self) -> None:
        """What has no effect is told of the query as it goes on."""
        db = Database()
        db.execute(f"{DECLARATIONS} SET punctuation = 3")
        text = "SELECT k FROM s [RANGE 5]"
        triggered, auto = db.query(text, expiry="input_triggered"), db.query(text)
        auto.restore(triggered.snapshot())
        assert auto.stats()["without_effect"] == {}

    @pytest.mark.parametrize(("said", "name", "told"), SETS[:3])
    def test_the_command_tells_it(self, said: str, name: str, told: str) -> None:
        script = f"{DECLARATIONS} SET {said}; CREATE QUERY q AS SELECT k FROM s [RANGE 5];"
        for style in ("text", "tree"):
            made = CliRunner().invoke(windrow, ["explain", "-", "--format", style], input=script)
            assert told in made.output, made.output


class TestOnSpark:
    """The same without a run: nothing here starts Spark's machine."""

    def test_what_a_query_has_no_use_for(self) -> None:
        db = SparkDatabase()
        db.execute(DECLARATIONS)
        text = "SELECT k FROM s [RANGE 5]"
        for how, message in (
            ({"expiry": "input_triggered", "punctuation": 3}, "punctuation = 3 has no effect"),
            ({"hold": 3}, "hold = 3 has no effect"),
            ({"expiry_pace": 3}, "expiry_pace = 3 cannot be said of one query"),
            ({"partials": "on"}, "partials = on cannot be said of one query"),
            ({"expiry": "piggyback", "join_messages": "off"}, "cannot go with join_messages off"),
        ):
            with pytest.raises(BindError, match=message) as refused:
                db.query(text, **how)
            assert refused.value.hint
        assert db.query(text, expiry="negative", join_messages="on").name == "query_1"
        with pytest.raises(BindError, match="is a query already"):
            db.query("query_1", hold=3)

    def test_what_is_set_for_a_run_may_be_said_again(self) -> None:
        db = SparkDatabase()
        db.execute(f"{DECLARATIONS} SET expiry_pace = 3; SET hold = 2")
        query = db.query("SELECT k FROM s [RANGE 5]", expiry_pace=3)
        told = db.explain(query.name)
        assert "query_1: hold = 2 has no effect: the query has no negation" in told
        assert "expiry_pace = 3 has no effect" not in told
