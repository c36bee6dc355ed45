"""Server engines installed from the app, each into an environment of its own."""
