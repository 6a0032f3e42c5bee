"""Words as numbers and as samples.

vocabulary  the words, and the texts as their numbers
lines       lines of words, for learning from neighbours
counts      pairs counted over the whole text, for learning from counts
"""
