"""Grammar.

casting    Who and what a sentence may be about
drawing    The English sentences that ship with weft, drawn from a small grammar of our own
english    How English says a meaning
lexicon    The words of the phrasebook, in English, French, Italian and German, as tables
meaning    What a sentence of the phrasebook means, and what all languages need to say it
templates  Which sentences the phrasebook has
"""
