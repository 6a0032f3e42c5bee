"""Reading.

formats   The pairs in one file of a known ending
pairs     Sentence pairs
parallel  Two plain text files that run side by side
suspects  Pairs that look wrong
texts     Pairs
tmx       Translation memories (.tmx)
"""
