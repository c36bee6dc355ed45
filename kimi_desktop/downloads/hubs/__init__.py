"""What model hubs say: listings, searches, addresses, tokens. Control calls; no model bytes."""
