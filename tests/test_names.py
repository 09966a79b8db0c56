"""A class name is used once: one word, one concept."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "windrow"


def classes(text: str) -> list[str]:
    """Return the names of all classes that a module defines, inner ones included."""
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def defined_twice(modules: dict[str, str]) -> dict[str, list[str]]:
    """Return the class names that are defined more than once, each with its modules."""
    found = defaultdict(list)
    for place, text in modules.items():
        for name in classes(text):
            found[name].append(place)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_every_class_name_is_defined_once() -> None:
    modules = {
        path.relative_to(SOURCE).as_posix(): path.read_text()
        for path in sorted(SOURCE.rglob("*.py"))
    }
    assert defined_twice(modules) == {}


def test_a_name_for_two_things_is_found() -> None:
    modules = {"a.py": "class Row: ...", "b.py": "class Table:\n    class Row: ..."}
    assert defined_twice(modules) == {"Row": ["a.py", "b.py"]}
