"""Views.

learned       What a model of pictures learned before it saw one
learned_view  What a model for pictures learned, whatever picture it reads
vision        What a model for pictures looks at
"""
