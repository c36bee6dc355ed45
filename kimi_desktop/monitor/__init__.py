"""Samples of memory, GPUs, disk and engine, and their history."""
