"""Models of pictures with texts that suit the data and the budget.

captioners  models that write captions
answerers   models that answer questions
"""
