"""Shares: how much each token that may be read counts in a weighted sum. Knows weights of pairs, no content.

Shares are frozen configs without weights of their own, like rules. They take the weights of edges in a list, or of all
pairs in a matrix; both give the same numbers.
"""

from jaxtyping import Float
from torch import Tensor

from weft.config import Config
from weft.relations import EdgeList


class Shares(Config):
    """What the weight of a pair becomes: its share in the sum that the query reads."""

    per_query = True  # whether a query's shares depend on nothing that other queries read

    def of_edges(self, weights: Float[Tensor, "E"], edges: EdgeList) -> Float[Tensor, "E"]:
        """The share of each edge."""
        raise NotImplementedError

    def of_matrix(self, weights: Float[Tensor, "B Q K"]) -> Float[Tensor, "B Q K"]:
        """The share of each pair; weights are 0 where nothing may be read."""
        raise NotImplementedError


class MeanShares(Shares):
    """w / (sum of w at the query), D^-1 A: shares add up to 1, so that the sum is a mean."""

    def of_edges(self, weights: Float[Tensor, "E"], edges: EdgeList) -> Float[Tensor, "E"]:
        return weights / _sums(weights, edges.query, edges)[edges.query]

    def of_matrix(self, weights: Float[Tensor, "B Q K"]) -> Float[Tensor, "B Q K"]:
        return weights / _or_one(weights.sum(-1, keepdim=True))


class SymmetricShares(Shares):
    """w / sqrt(sum at the query x sum at the key), D^-1/2 A D^-1/2 (Kipf and Welling, 2017).

    A token that many read counts for less with each of them. The relation says whether a node reads itself (A + I).
    """

    per_query = False

    def of_edges(self, weights: Float[Tensor, "E"], edges: EdgeList) -> Float[Tensor, "E"]:
        at_query, at_key = (_sums(weights, ends, edges)[ends] for ends in (edges.query, edges.key))
        return weights / (at_query * at_key).sqrt()

    def of_matrix(self, weights: Float[Tensor, "B Q K"]) -> Float[Tensor, "B Q K"]:
        at_query, at_key = (_or_one(weights.sum(side, keepdim=True)) for side in (-1, -2))
        return weights / (at_query * at_key).sqrt()


def _sums(weights: Float[Tensor, "E"], ends: Tensor, edges: EdgeList) -> Float[Tensor, "BN"]:
    """The sum of the weights at each token, over the edges that have it at one end."""
    return _or_one(weights.new_zeros(edges.batch * edges.tokens).index_add_(0, ends, weights))


def _or_one(sums: Tensor) -> Tensor:
    """Sums of weights, with ones where nothing was weighed."""
    return sums.where(sums > 0, 1.0)
