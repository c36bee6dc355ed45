"""Why an engine failed, is slow, queues or talks nonsense: evidence -> cause -> fix, as data."""
