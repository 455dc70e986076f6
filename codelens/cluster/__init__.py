"""Many indexes as one: each holds some repositories, and a search over them gives what one index of all would."""
