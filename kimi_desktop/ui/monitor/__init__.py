"""The monitor page: live graphs."""
