"""Sources without documentation: the removed text, unchanged line numbers, and possible queries."""

from __future__ import annotations

import pytest

from codelens.evaluation.docstrings import remove_documentation

PYTHON = '''\
class Store:
    """Keeps letters by their number."""

    def fetch(self, number):
        """Returns one letter of the pile.

        Raises KeyError.
        """
        return self.pile[number]  # never twice
'''
JAVA = """\
class Store {
    /**
     * Returns one letter of the pile.
     * @param number which
     */
    @Override
    public Letter fetch(int number) {
        return pile.get(number); // never twice
    }
}
"""
GO = """\
package store

// Fetch returns one letter of the pile.
func (s *Store) Fetch(number int) Letter {
	return s.pile[number] // never twice
}
"""
RUST = """\
/// Returns one letter of the pile.
#[inline]
pub fn fetch(number: usize) -> Letter {
    pile(number) // never twice
}
"""
JAVASCRIPT = """\
/**
 * Returns one letter of the pile.
 */
export function fetch(number) {
  return pile[number]; // never twice
}
"""


@pytest.mark.parametrize(
    ("language", "source"), [("python", PYTHON), ("java", JAVA), ("go", GO), ("rust", RUST), ("javascript", JAVASCRIPT)]
)
def test_documentation_goes_and_lines_stay(language: str, source: str) -> None:
    bare, asked = remove_documentation(source, language)
    line = next(n for n, text in enumerate(source.split("\n"), start=1) if "etch(" in text)
    assert "one letter of the pile" in asked[line].lower()
    assert "pile." not in bare.lower().replace("self.pile", "").replace("s.pile", "").replace("pile.get", "")
    assert "never twice" in bare
    assert bare.count("\n") == source.count("\n")
    assert bare.split("\n")[line - 1] == source.split("\n")[line - 1]
    assert all(mark in bare for mark in ("@Override", "#[inline]") if mark in source)


def test_text_that_is_still_readable_makes_no_query() -> None:
    source = '''\
def fetch(number):
    """Returns one letter of the pile."""
    return number


TEXT = "returns one letter of the pile"
'''
    assert remove_documentation(source, "python")[1] == {}


def test_code_without_documentation_is_left_alone() -> None:
    source = "def fetch(number):\n    # a remark\n    return 'text'\n"
    assert remove_documentation(source, "python") == (source, {})
