"""Recipes: which models a task has, how large they should be, and how fast they learn. One family of models a file."""
