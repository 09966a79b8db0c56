"""Words that were replaced stay out of code and docs: docs/reference/glossary.md, "Retired words".

Only words that have no other use are listed. A data set, a protocol or a library may have a word of
its own (`file.tell()`): these places are named.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
RETIRED = re.compile(
    r"\b(told|tells?|telling|births?|graves?|bury|buried|hindrances?|heard"
    r"|remember(s|ed|ing)?|(take|takes|taken|took|taking) back)\b",
    re.IGNORECASE,
)
ELSEWHERE = {
    "src/windrow/runtime/shards/wire.py": {"tell", "heard"},  # a file's method; a key on the wire
    "src/windrow_lab/bench/spellings.py": {"take back"},  # data of TPC-H
    "src/windrow_lab/experiments/links/contestants.py": {"births"},  # a column of stored results
}


def retired(text: str) -> set[str]:
    """Return the retired words of a text."""
    return {found[0].lower() for found in RETIRED.finditer(text)}


def test_retired_words_stay_out() -> None:
    pages = [p for p in (ROOT / "docs").rglob("*.md") if "design" not in p.parts]
    files = [*(ROOT / "src").rglob("*.py"), *pages, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    places = {path.relative_to(ROOT).as_posix(): path for path in sorted(files)}
    found = {
        place: words - ELSEWHERE.get(place, set())
        for place, path in places.items()
        if place != "docs/reference/glossary.md" and (words := retired(path.read_text()))
    }
    assert {place: words for place, words in found.items() if words} == {}


def test_a_retired_word_is_found() -> None:
    assert retired("What it told, it Takes back.") == {"told", "takes back"}
    assert retired("a toll, retold") == set()
