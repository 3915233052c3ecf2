"""What a conversion does to values, in NumPy, straight from the definition."""
