"""The list of all tools, in the order in which clients list them."""

from __future__ import annotations

from codelens.server.mcp.tools.notes import FEEDBACK, NOTES
from codelens.server.mcp.tools.search import CONTEXT, FILE_SEARCH, SEARCH, WHY
from codelens.server.mcp.tools.structure import CALLEES, CALLERS, IMPACT, READ, REFS, STATUS, SYMBOLS

_IN_ORDER = (SEARCH, READ, REFS, CONTEXT, FILE_SEARCH, SYMBOLS, CALLERS, CALLEES, IMPACT, WHY, NOTES, FEEDBACK, STATUS)
TOOLS = {tool.name: tool for tool in _IN_ORDER}
