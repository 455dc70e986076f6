"""The table of tools: one row each, in the order in which clients list them."""

from __future__ import annotations

from codelens.server.mcp.tool import Tool
from codelens.server.mcp.tools.context import CONTEXT
from codelens.server.mcp.tools.feedback import FEEDBACK
from codelens.server.mcp.tools.notes import NOTES
from codelens.server.mcp.tools.outline import SYMBOLS
from codelens.server.mcp.tools.relations import CALLEES, CALLERS, IMPACT, REFS
from codelens.server.mcp.tools.search import FILES, SEARCH
from codelens.server.mcp.tools.status import STATUS
from codelens.server.mcp.tools.why import WHY

TOOLS: tuple[Tool, ...] = (
    SEARCH,
    FILES,
    CONTEXT,
    SYMBOLS,
    REFS,
    CALLERS,
    CALLEES,
    IMPACT,
    WHY,
    NOTES,
    FEEDBACK,
    STATUS,
)
