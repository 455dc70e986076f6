"""Small trees, indexed: what the tests of searching share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.model.search import Explanation, SearchResult, WhyResult
from codelens.render.records import Record, build_search_record, to_json
from codelens.render.why_json import build_why_record, recompute_scores

QUICK = Settings(jobs=1)


class Tree:
    """A folder with files, and an index next to it."""

    def __init__(self, folder: Path, files: Mapping[str, str | bytes] = {}, settings: Settings = QUICK) -> None:
        self.root, self.settings = folder / "tree", settings
        self.db = folder / "index.db"
        self.root.mkdir(parents=True)
        self.write(files)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def index(self, *more: Path) -> Index:
        Index.build(self.db, [self.root, *more], self.settings)
        return Index.open(self.db, self.settings)


def names(result: SearchResult) -> list[str]:
    return [hit.unit.qualified_name for hit in result.hits]


def paths(result: SearchResult) -> list[str]:
    return [hit.unit.path for hit in result.hits]


def find(index: Index, query: str, **options: Any) -> SearchResult:
    return index.search(query, SearchOptions(**options))


def ask(index: Index, query: str, *targets: str, **options: Any) -> WhyResult:
    return index.why(query, targets, SearchOptions(**options))


def ask_one(index: Index, query: str, target: str, **options: Any) -> Explanation:
    return ask(index, query, target, **options).explanations[0]


def checked(index: Index, query: str, *targets: str, **options: Any) -> Record:
    """The JSON of `why`, there and back, after its sums were computed again and compared with the search's own JSON."""
    why: Record = json.loads(to_json(build_why_record(ask(index, query, *targets, **options), 0)))
    count, differences = recompute_scores(why)
    assert not differences
    if not targets:
        searched = json.loads(to_json(build_search_record(find(index, query, **options), 0)))["results"]
        assert [(e["rank"], e["candidate"]["score"]) for e in why["explanations"]] == [
            (hit["rank"], hit["score"]) for hit in searched
        ]
        assert count >= len(searched)
    return why


def functions(number: int, word: str = "widget") -> str:
    """Python text with this many functions, each of whose names and bodies hold the word."""
    return "".join(f"def {word}_{i:04}():\n    return {i}\n\n\n" for i in range(number))


STORE = {
    "store/ledger.py": '''\
"""Where entries are kept."""
from store.disk import flush_pages


class Ledger:
    """Keeps journal entries."""

    def post_entry(self, entry):
        """Write a journal entry."""
        flush_pages([entry])
        return audit_trail(entry)


def audit_trail(entry):
    return entry
''',
    "store/disk.py": "def flush_pages(pages):\n    return sync_blocks(pages)\n\n\ndef sync_blocks(pages):\n    return len(pages)\n",
    "web/forms.py": "def parse_form(text):\n    return text.split('&')\n",
    "tests/test_ledger.py": "from store.ledger import Ledger\n\n\ndef test_post_entry():\n    assert Ledger().post_entry(1)\n",
    "store/doubles.py": """\
class MockLedger:
    def post_entry(self, entry):
        '''Write a journal entry.'''
        return None
""",
}
