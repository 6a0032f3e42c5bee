"""Datasets: what a task learns from and is measured on, read and split once in a run. No torch, no tokens."""

from weft.data.datasets.dataset import Count, Dataset, Reader, stem

__all__ = ["Count", "Dataset", "Reader", "stem"]
