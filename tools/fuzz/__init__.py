"""Campaigns that throw generated input at codelens and count what goes wrong."""
