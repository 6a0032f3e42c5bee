"""Files on disk: written whole or not at all, read without trust; tensors in files. Knows nothing of models."""
