"""What models of texts read.

streams  the looks and vectors of a run whose model is one stream of text
reading  attention within a text, word by word
vectors  a vector for each text, and what is near it
"""
