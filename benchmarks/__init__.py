"""Measurements of layoutc; run as `make bench`."""
