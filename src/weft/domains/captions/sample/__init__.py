"""Scenes: drawn pictures of coloured objects, with texts and the regions that words are about.

drawing    the objects and their pixels
captions   what is true of a scene, in sentences
questions  questions with one right answer, balanced so that a model that does not look can only guess
album      scenes as an album
named      "scene 3": the third held-out picture
"""
