"""Front ends that answer other programs: each hands a question to the facade and the answer to a renderer."""
