"""Readers of users' files, the order of samples, and the loader."""
