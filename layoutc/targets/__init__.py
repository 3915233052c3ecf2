"""Targets: `c.py` prints a module of lowered IR as one standalone C file.

The rooms, each of which imports only what stands before it: `words`, `patterns`, `helpers`, `spelling`, `functions`.
"""
