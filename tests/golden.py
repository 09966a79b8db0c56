"""Golden files: blocks of a question, ``----`` and the answer; ``REWRITE=1`` renews the answers.

Blocks are separated by an empty line before a line that is not indented. Lines of a question
that start with ``#`` are its comment.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def check_golden(path: Path, answer: Callable[[str], str]) -> None:
    """Compare every answer of the file with what `answer` gives now."""
    blocks = re.split(r"\n\n(?=\S)", path.read_text().strip())
    given = [block.partition("\n----")[0] for block in blocks]
    fresh = "\n\n".join(f"{g}\n----\n{answer(question_of(g))}" for g in given) + "\n"
    if os.environ.get("REWRITE"):
        path.write_text(fresh)
    assert fresh == path.read_text()


def question_of(block: str) -> str:
    """Return a question without its comment."""
    return "\n".join(line for line in block.splitlines() if not line.startswith("#"))
