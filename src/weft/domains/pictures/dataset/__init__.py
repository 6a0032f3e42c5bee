"""Dataset.

pictures  Pictures to learn from and pictures held out
split     Pictures to learn from and pictures held out
"""
