"""The command line: declare options, call one method of Index, hand the result to one renderer."""
