"""Controls and building blocks of every page, painted from the tokens. Qt thread.

Each paints itself, follows the theme without being told, and has an accessible name and role.
Words are set by the page (and set again in its ``retranslate``).
"""
