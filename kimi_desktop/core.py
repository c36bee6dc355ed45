"""Builds the services and joins the features, for the window and the terminal alike. No Qt."""
