"""Results → text and objects. Nothing here looks anything up: what is shown is in what it is given."""
