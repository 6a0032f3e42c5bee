"""People's files become pairs of texts. No torch.

kept      many pairs, in mapped files and not in memory
pairs     read_pairs and judge: all sources together
formats   one file of a known ending; parallel two files side by side; tmx translation memories
texts     Pairs: the rows, what is known of them, what is held out
suspects  pairs that look wrong: repeated, untranslated, the wrong way round
"""
