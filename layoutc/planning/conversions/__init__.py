"""Copies that convert elements, or whose elements share bytes: rows, parameters, and sums beside them."""
