"""Views.

reading  What a model read of each word of a text when it read each other
streams  Runs whose model is one stream of text, continued or read whole
vectors  Texts as a model sees them
"""
