"""What a translation looked at.

looking      a look at one text by a run
translation  the alignment as a picture, a page or text; one token step by step
"""
