"""Pairs as bundles of like length; `data.readers.pairs` reads them."""
