"""Recipe.

answerers   Models that answer questions about pictures
captioners  Models that write about pictures
"""
