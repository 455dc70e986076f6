"""Data classes, one module per topic. They import nothing else of codelens and do no work."""
