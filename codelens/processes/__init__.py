"""Other Python processes: `python` starts one, `pool` shares several, and `child` runs inside each of them."""
