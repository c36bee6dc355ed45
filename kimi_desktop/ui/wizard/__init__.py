"""The wizard page: the first run."""
