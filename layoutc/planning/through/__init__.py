"""Copies by way of a buffer: blocks that do not divide each other, and images with a byte for each element."""
