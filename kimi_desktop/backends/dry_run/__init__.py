"""llama.cpp's own dry run on pretended GPUs: what it would allocate, asked in a child process.

Only ``backends.exact_check_child`` imports this; nothing of it runs in the app's process.
"""
