"""The phrasebook: English sentences with their French, Italian or German.

phrasebook  the pairs, and which word is which
romance     how French and Italian say a meaning
german      how German does
"""
