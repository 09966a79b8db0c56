"""A few seconds of the fuzzer; `python -m tests.fuzz.fuzz_language` runs it for longer."""

import pytest
from tests.fuzz import fuzz_language

pytestmark = pytest.mark.long


def test_mutated_texts_parse_or_fail_with_a_place() -> None:
    report = fuzz_language.run(seed=20260101, count=3_000)
    assert report.texts == 3_000


def test_a_broken_target_is_reported_with_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(text: str) -> None:
        raise KeyError(text)

    monkeypatch.setattr(fuzz_language, "targets", lambda: (breaks,))
    with pytest.raises(fuzz_language.FuzzError, match="text: "):
        fuzz_language.run(seed=1, count=1)


def test_a_seed_gives_the_same_texts() -> None:
    for first, second in zip(fuzz_language.texts(5), fuzz_language.texts(5), strict=False):
        assert first == second
        if first not in fuzz_language.CORPUS:
            break
