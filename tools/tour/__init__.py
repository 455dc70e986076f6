"""`make tour`: what indexing many real source trees costs, beside the bars that codelens must keep."""
