"""Where the data of the shipped embedding comes from: which packages, and how to get them again."""
