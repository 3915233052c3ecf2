"""Copies that run together, as they share cache lines."""
