"""The numbers of a training, and what it makes."""

from __future__ import annotations

from codelens.nouns import dataclass
from codelens.training.bags import Floats
from codelens.training.corpus import KINDS

FIELDS = 4
"""Of code: name, context, signature, body."""
DOC = KINDS.index("doc")


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides a training but its data. Defaults are those of the study that the design names, unless said."""

    dimensions: int = 256
    steps: int = 2000
    batch: int = 2048
    run: int = 128
    """Pairs of one package that stand together in a batch."""
    rate: float = 1.5e-3
    warm_up: int = 50
    weight_rate: float = 6.0
    """Times the rate: weights of words, factors and the temperature move faster than rows."""
    sif: float = 1e-3
    """Where the words' weights begin: sif / (sif + share), smooth inverse frequency (Arora et al. 2017)."""
    shares: tuple[float, float, float, float, float] = (0.6, 0.4, 0.0, 0.6, 0.0)
    """Of the corpus' KINDS in a batch, those that a corpus lacks apart."""
    dropped: tuple[float, float, float, float] = (0.2, 0.3, 0.15, 0.1)
    """How often a field is left out, so that each learns to stand alone."""
    part_lengths: tuple[int, ...] = (4, 5)
    """Letters of the runs by which words share rows; none: every word learns alone."""
    part_rows: int = 3
    """Names that must have a run for it to have a row."""
    part_rate: float = 0.5
    """Times the rate: a word is the sum of a dozen parts, which move together. Chosen, not measured."""
    temperature: float = 20.0
    """What cosines are multiplied by at the beginning; learned."""
    seed: int = 1


@dataclass(slots=True)
class Model:
    """A static embedding in floats."""

    rows: Floats
    """[words × dimensions]"""
    query: Floats
    """[words]: natural logarithms of the weights in questions."""
    code: Floats
    """[words]: the same in code."""
    factors: Floats
    """[KINDS × FIELDS]: logarithms of what each field counts for each kind of question; a model file has those of docs."""
    temperature: float

    def copy(self) -> Model:
        """One that a further step does not change."""
        return Model(self.rows.copy(), self.query.copy(), self.code.copy(), self.factors.copy(), self.temperature)
