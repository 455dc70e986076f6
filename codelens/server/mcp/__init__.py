"""The MCP server (Model Context Protocol): offers the index as tools to coding agents."""
