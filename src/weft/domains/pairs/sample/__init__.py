"""Sample.

german      How German says a meaning
phrasebook  The phrasebook that ships with weft
romance     How French and Italian say a meaning
"""
