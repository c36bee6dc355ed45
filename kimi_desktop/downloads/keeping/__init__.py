"""What becomes of models that are here: removed, restored, moved to another drive."""
