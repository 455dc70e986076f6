"""The table of tools: one row each, in the order in which clients list them."""

from __future__ import annotations

from codelens.server.mcp.tool import Tool
from codelens.server.mcp.tools.context import CONTEXT
from codelens.server.mcp.tools.notes import FEEDBACK, NOTES
from codelens.server.mcp.tools.search import FILES, SEARCH, WHY
from codelens.server.mcp.tools.status import STATUS
from codelens.server.mcp.tools.structure import CALLEES, CALLERS, IMPACT, READ, REFS, SYMBOLS

TOOLS: tuple[Tool, ...] = (
    SEARCH,
    READ,
    REFS,
    CONTEXT,
    FILES,
    SYMBOLS,
    CALLERS,
    CALLEES,
    IMPACT,
    WHY,
    NOTES,
    FEEDBACK,
    STATUS,
)
