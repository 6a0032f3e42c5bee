"""Datasets: what a task learns from and is measured on, read and split once in a run. No torch, no tokens."""
