"""What becomes of elements on their way: conversions, parameters, and bytes that elements share."""
