"""WordVectors: a vector for every word, learned from the words around it. No trunk and no head: two tables."""

from typing import Literal

from jaxtyping import Float, Int
from torch import Tensor, nn

from weft.core.row_table import RowTable
from weft.errors import ConfigError
from weft.models.stream import Model, Stream

Kind = Literal["word2vec", "glove", "vectors"]


class WordVectors(Model):
    """score(word, neighbour) = u_word . v_neighbour, where every word has a row in both tables.

    word2vec   the vectors are the rows of the first table (Mikolov et al., 2013)
    glove      the score has a bias for each word on either side; the vectors are u + v (Pennington et al., 2014)
    vectors    the first table alone: what came from elsewhere
    """

    class Config(Model.Config):
        """`words` is the size of the vocabulary."""

        words: int
        dim: int
        kind: Kind = "word2vec"

        def check(self) -> None:
            for name in ("words", "dim"):
                if getattr(self, name) < 1:
                    raise ConfigError(f"must be at least 1, found {getattr(self, name)}", where=f"WordVectors.{name}")

        def reader(self) -> Stream.Config:
            raise ConfigError("word vectors have no layers that another task could go on with", where="--from")

    config: Config

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.word = RowTable(config.words, config.dim)
        if config.kind != "vectors":
            self.neighbour = RowTable(config.words, config.dim)
        if config.kind == "glove":
            self.word_bias, self.neighbour_bias = RowTable(config.words, 1), RowTable(config.words, 1)
        # Rows as long as word2vec begins with: the first scores are near 0. GloVe cannot begin with zeros on one side.
        for table in (self.word, *([self.neighbour] if config.kind == "glove" else [])):
            nn.init.uniform_(table.weight, -0.5 / config.dim, 0.5 / config.dim)

    def vectors(self) -> Float[Tensor, "V D"]:
        """The vectors of all words."""
        own = self.word.weight.detach()
        return own + self.neighbour.weight.detach() if self.config.kind == "glove" else own

    def forward(self, words: Int[Tensor, "B"]) -> Float[Tensor, "B D"]:
        """The vectors of some words."""
        return self.vectors()[words]


def word_vectors(kind: Kind, *, words: int, dim: int) -> WordVectors.Config:
    """The config of a model by its name."""
    return WordVectors.Config(words=words, dim=dim, kind=kind)
