"""Conversations: store, streaming session, Markdown segments, presets."""
