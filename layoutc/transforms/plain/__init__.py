"""Textbook loop nests: each element by itself, in logical order."""
