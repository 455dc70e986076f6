"""Which definition a changed line is of, and which commit's message asks for something."""

from __future__ import annotations

import pytest

from codelens.evaluation.commits import find_refusal, make_explained_query, make_subject_query
from codelens.evaluation.trees import find_changed_units, parse_file
from codelens.worktree.commits import CommitRecord
from codelens.worktree.diffs import read_diff

PYTHON = """\
import os

TOP = 1


class Boat:
    # Where it is,
    # at sea.
    @property
    def place(self):
        return 1

    def sail(self):
        def inner():
            return 2
        return inner


def dock():
    return 3
"""
CPP = """\
#include <map>

namespace port {

class Boat {
 public:
  /// Moves on.
  void sail() {
    go();
  }

  int mass;
};

}  // namespace port
"""
TWO = "@@ -11,3 +11 @@\n-        return 1\n-\n-    def sail(self):\n+        return 1"
RUST = """\
/// Says where.
///
/// In knots.
#[inline]
pub fn place() -> u8 {
    1
}

pub struct Boat {
    mass: u8,
}
"""


def hit(path: str, source: str, hunk: str) -> list[str]:
    file = parse_file(path, source.encode())
    assert file is not None
    (change,) = read_diff(f"--- a/{path}\n+++ b/{path}\n{hunk}\n".encode())
    return [unit.qualified_name for unit in find_changed_units(file, change.hunks)]


@pytest.mark.parametrize(
    ("path", "source", "hunk", "expected"),
    [
        ("boat.py", PYTHON, "@@ -3 +3 @@\n-TOP = 1\n+TOP = 2", ["TOP"]),
        ("boat.py", PYTHON, "@@ -1 +1 @@\n-import os\n+import re", []),
        ("boat.py", PYTHON, "@@ -8 +8 @@\n-    # at sea.\n+    # on land.", ["Boat.place"]),
        ("boat.py", PYTHON, "@@ -9 +8,0 @@\n-    @property", ["Boat.place"]),
        ("boat.py", PYTHON, "@@ -15 +15 @@\n-            return 2\n+            return 4", ["Boat.sail"]),
        ("boat.py", PYTHON, "@@ -11,0 +12,2 @@\n+\n+        return 5", ["Boat.place"]),
        ("boat.py", PYTHON, "@@ -11,0 +12,2 @@\n+\n+    kind = 5", ["Boat"]),
        ("boat.py", PYTHON, "@@ -16,0 +17,3 @@\n+\n+    def stop(self):\n+        pass", ["Boat"]),
        ("boat.py", PYTHON, "@@ -18,0 +19,3 @@\n+def ramp():\n+    pass\n+", []),
        ("boat.py", PYTHON, "@@ -20,0 +21,3 @@\n+\n+def ramp():\n+    pass", []),
        ("boat.py", PYTHON, "@@ -20,0 +21 @@\n+    pass", ["dock"]),
        ("boat.py", PYTHON, "@@ -0,0 +1 @@\n+import io", []),
        ("boat.py", PYTHON, TWO, ["Boat.place", "Boat.sail"]),
        ("boat.cc", CPP, "@@ -9 +9 @@\n-    go();\n+    go_on();", ["port.Boat.sail"]),
        ("boat.cc", CPP, "@@ -7 +7 @@\n-  /// Moves on.\n+  /// Moves.", ["port.Boat.sail"]),
        ("boat.cc", CPP, "@@ -11,0 +12,2 @@\n+  void stop();\n+", ["port.Boat"]),
        ("boat.cc", CPP, "@@ -13,0 +14,2 @@\n+\n+class Crew;", []),
        ("boat.rs", RUST, "@@ -3 +3 @@\n-/// In knots.\n+/// In miles.", ["place"]),
        ("boat.rs", RUST, "@@ -1 +1 @@\n-/// Says where.\n+/// Says it.", ["place"]),
        ("boat.md", "# A\n\none\n\n## B\n\ntwo\n", "@@ -7 +7 @@\n-two\n+three", ["A.B"]),
    ],
)
def test_the_innermost_definition_takes_a_change(path: str, source: str, hunk: str, expected: list[str]) -> None:
    assert hit(path, source, hunk) == expected


UNASKED = ["CHANGELOG.md", "docs/release-notes.md", "LICENSE", "a.png", "package-lock.json", "third_party/a.py"]


@pytest.mark.parametrize("path", UNASKED)
def test_what_has_no_definitions_to_ask_for(path: str) -> None:
    assert parse_file(path, PYTHON.encode()) is None


def test_a_name_that_stands_for_many_is_no_answer() -> None:
    file = parse_file(
        "many.cc", b"".join(b"int twin(int a%d) { return 1; }\n" % n for n in range(5)) + b"int one() { return 1; }\n"
    )
    assert file is not None
    assert file.names == {"one"}


def message(subject: str, body: str = "", author: str = "Ada <a@b>") -> CommitRecord:
    return CommitRecord("1" * 40, ("2" * 40,), author, subject, body, ("boat.py",))


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        ("Merge pull request #3 from port/boats", "a merge"),
        ("Merge branch 'boats' into main", "a merge"),
        ("Merge upstream/main", "a merge"),
        ("Merge the two ways to sail into one", ""),
        ('Revert "Let boats sail"', "a revert"),
        ("fix: revert to the old way", "a revert"),
        ("Release 1.2.3 of the boats", "a release or a version"),
        ("Prepare the next release", "a release or a version"),
        ("Bump boats from 1.0 to 1.1", "a release or a version"),
        ("v1.2.3", "a release or a version"),
        ("Release the anchor before sailing", ""),
        ("Read version 2 of charts", ""),
        ("port(boats): let them sail far", ""),
        ("Fix tests", "too few words"),
    ],
)
def test_what_asks_for_nothing(subject: str, why: str) -> None:
    assert find_refusal(message(subject)) == why


@pytest.mark.parametrize("author", ["dependabot[bot] <d@d>", "Renovate Bot <r@r>", "github-actions <g@g>"])
def test_machines_ask_for_nothing(author: str) -> None:
    assert find_refusal(message("Let boats sail far away", author=author)) == "by a bot"
    assert find_refusal(message("Let boats sail far away", author="Abbot Talbot <abbot@b>")) == ""


@pytest.mark.parametrize("number", [" (#12)", " #12", " (GH-12)", " (#12) (#13)", ""])
def test_the_number_of_a_pull_request_goes(number: str) -> None:
    assert make_subject_query(message(f"fix(port): let boats sail{number}")) == "fix(port): let boats sail"


WHY = "They lay in the harbour all winter long."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (WHY, f"Let boats sail. {WHY}"),
        (f"{WHY}\n\nMore of it.", f"Let boats sail. {WHY}"),
        (f"\n\nFixes #12\nSigned-off-by: Ada <a@b>\n\n{WHY}\nSee https://example.org/x.", f"Let boats sail. {WHY}"),
        (f"<!-- A form. -->\n### Goals\n- [ ] tests\n\n{WHY}", f"Let boats sail. {WHY}"),
        (f"* Let boats swim\n\n* Let boats sail\n\n{WHY}", f"Let boats sail. {WHY}"),
        ("Because.", ""),
        ("Co-authored-by: Bob of the harbour and of all the boats <b@b>", ""),
        ("```\nmany words of code that are no sentence at all\n```", ""),
        ("Let boats sail " * 4, ""),
        (" ".join(f"word{n}" for n in range(90)), "Let boats sail. " + " ".join(f"word{n}" for n in range(60))),
    ],
)
def test_a_body_that_explains(body: str, expected: str) -> None:
    assert make_explained_query(message("Let boats sail", body)) == expected
