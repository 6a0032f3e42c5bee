"""Models of texts that suit the data and the budget.

language  language models
encoders  encoders, and heads on what was learned before
"""
