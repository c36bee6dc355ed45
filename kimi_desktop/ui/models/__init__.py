"""The models page: local models."""
