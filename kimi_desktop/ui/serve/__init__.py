"""The serve page: the gateway switch."""
