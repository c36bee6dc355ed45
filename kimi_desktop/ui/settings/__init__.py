"""The settings page: choices."""
