"""What an expression is: a definition, an object of a type, a module, or nothing that the repository knows.

Names are found from the inside out, members through the bases of a type; each step says how sure it is (relations.TIERS).
"""

from __future__ import annotations

from codelens.linking.exports import Exports
from codelens.linking.members import Members
from codelens.linking.scopes import Scopes
from codelens.linking.types import Types


class Values(Scopes, Exports, Types, Members):
    """Evaluates names and expressions where they stand."""
