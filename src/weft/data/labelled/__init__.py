"""Labelled texts as bundles of like length; `data.readers.labelled` reads them."""
