"""Kimi Desktop: plan, start, chat with and serve giant open models on your own machine."""

__version__ = "0.1.0"
