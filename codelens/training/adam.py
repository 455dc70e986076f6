"""Gradients of some rows of an array → the rows moved."""

from __future__ import annotations

import math

import numpy as np

from codelens.training.bags import Floats, Whole


class Adam:
    """Moves some rows of one array (Kingma & Ba 2015); the moments of rows that rest stay as they are."""

    def __init__(self, value: Floats) -> None:
        self.value, self._first, self._second = value, np.zeros_like(value), np.zeros_like(value)

    def move(self, rows: Whole | slice, gradient: Floats, rate: float, step: int) -> None:
        """One step down the gradient of these rows."""
        first = self._first[rows] * np.float32(0.9) + gradient * np.float32(0.1)
        second = self._second[rows] * np.float32(0.999) + gradient * gradient * np.float32(0.001)
        self._first[rows], self._second[rows] = first, second
        scale = np.float32(rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step))
        self.value[rows] -= scale * first / (np.sqrt(second) + np.float32(1e-8))
