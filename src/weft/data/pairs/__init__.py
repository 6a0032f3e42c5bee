"""Sentence pairs: readers of tsv, csv, jsonl, tmx, po and parallel files, and what is held out of them."""

from weft.data.pairs.reading import Pair, Pairs, read_pairs
from weft.data.pairs.split import Held, PairSplit, overlap, split_pairs

__all__ = ["Held", "Pair", "PairSplit", "Pairs", "overlap", "read_pairs", "split_pairs"]
