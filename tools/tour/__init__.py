"""`make tour`: the cost of indexing many real source trees, compared with the limits that codelens must keep."""
