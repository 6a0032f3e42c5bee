"""A small grammar for samples: meanings are drawn, then said in English. `pairs` says them in other languages.

lexicon    the words, in English, French, Italian and German
meaning    what a sentence means, and what every language needs to say it
casting    who and what a sentence may be about
templates  which sentences there are
english    how English says a meaning
drawing    the sentences, drawn the same on every machine
"""
