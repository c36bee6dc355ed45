"""Servers that somebody else runs: asked like an engine, never started and never ended."""
