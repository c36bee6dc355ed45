"""Fetching model files and proving every byte."""
