"""The ground floor: errors, texts, units, events, paths, settings and the IO thread. No Qt."""
