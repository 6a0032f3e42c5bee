"""Models of pictures that suit the data and the budget.

sizes  models by name, and the settings that go with them
costs  operations to learn from one picture, counted on a model without memory
"""
