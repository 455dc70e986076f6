"""Front ends for other programs. Each passes a question to the facade, and the answer to a renderer."""
