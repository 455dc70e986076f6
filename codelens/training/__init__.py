"""Train embeddings on pairs of words and code: the model in the wheel, from licensed packages, or a user's own model."""
