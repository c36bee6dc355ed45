"""Official llama.cpp builds: found, fetched, proven, unpacked, kept side by side."""
