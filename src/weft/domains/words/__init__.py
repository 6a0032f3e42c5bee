"""Words: a vector for every word of a vocabulary, learned from running text.

A token is a whole word, by its number in words.json; no context enters its vector. Text becomes lines of words, from
which a model learns neighbours, or counts of pairs that stand near each other (GloVe).

cards        embed-words in plain words
settings     of its training
reading      questions to measure vectors by: analogies, and pairs with a likeness
dataset      text to train on, text held out, questions
codec        WordCodec over words.json
encoded      words as numbers, as lines and as counted pairs
recipe       widths and rates
measures     analogies, correlation with people's sense of likeness
exchange     word vectors from and for other tools
views        words in two dimensions
sample       sentences about a small world in which analogies hold

embed_words  learns the vectors
vectors      what is done with them: samples, the space they lie in, measures
exchange     files of vectors, from elsewhere and for elsewhere
"""
