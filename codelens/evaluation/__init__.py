"""What codelens costs, how good its rankings are, and whether two runs differ: tools for developers, not for users."""
