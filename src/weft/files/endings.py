"""Endings of files that hold one kind of data and nothing else, so that no other reader takes them for its own."""

PAIRS = (".po", ".tmx")
TAGGED = (".conll", ".conllu", ".bio", ".iob", ".iob2")
TREES = (".mrg", ".parse", ".ptb", ".trees", ".tree")
ENDINGS_OF_ONE_KIND = (*PAIRS, *TAGGED, *TREES)
