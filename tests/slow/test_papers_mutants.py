"""Each bug that was found by hand, put back on purpose, is found by the random cases."""

from __future__ import annotations

import pytest

from tests.papers.mutants import CASES, MUTANTS, Mutant, search

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.number)
def test_a_bug_put_back_is_found(mutant: Mutant) -> None:
    assert search(mutant) is not None, f"not found in {CASES} cases: {mutant.what}"
