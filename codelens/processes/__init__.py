"""Other Python processes: `python` starts one, `pool` shares several, and `child` is the code that runs inside of each."""
