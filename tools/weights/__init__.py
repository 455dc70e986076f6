"""Learn the shipped ranking weights."""
