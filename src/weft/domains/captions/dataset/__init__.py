"""Dataset.

captions   Pictures with sentences about them
questions  Pictures with questions about them and the answers
"""
