"""Tiles: the lanes of loads and stores, and the straight-line program between them."""
