"""Sample.

album      Scenes as an album
captions   What is true of a scene in sentences, and the objects that their words are about
drawing    Scenes
named      Scenes by name
questions  Questions about a scene, each with one right answer, balanced so that a model that does not look can only guess
"""
