"""Words.

cards        The task on words
codec        WordCodec
dataset      Text to learn words from, and what their vectors are measured on
embed_words  embed-words
encoded      a folder
exchange     Word vectors from elsewhere and for elsewhere
measures     Measures of vectors of words
presets      The widths of vectors of words
reading      Questions about words to measure vectors by
recipe       Vectors of words
sample       Sentences about a small world, in which analogies hold
settings     Settings of a training of vectors of words
vectors      What is done with vectors of words
views        a folder
"""
