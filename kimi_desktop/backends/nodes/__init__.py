"""vLLM over several machines: asked, started and ended over the system's ssh."""
