"""Hooks of MkDocs: CONTRIBUTING.md is a page of the site, links to code are plain text."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^(```\w+) [\w-]+$", re.MULTILINE)  # "sql refused" is SQL to a reader
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s:#]+\.[a-z]+|[^)\s:#]*/)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add CONTRIBUTING.md as a page of the site."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    files.append(File.generated(config, "contributing.md", content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links at pages of the site; those that lead out of it become plain text."""
    uri = PurePosixPath(page.file.src_uri)
    folder = ROOT if uri.name == "contributing.md" else ROOT / "docs" / uri.parent

    def rewritten(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        if target.endswith("../CONTRIBUTING.md"):
            return f"[{text}]({target.replace('../CONTRIBUTING.md', 'contributing.md')}{anchor})"
        file = (folder / target).resolve()
        outside = file.exists() and not file.is_relative_to(ROOT / "docs")
        return text if outside else link[0]

    return FENCE.sub(r"\1", LINK.sub(rewritten, markdown))
