"""What is to be moved: a reorder as strided copies, boxes of digits with one stride on each side."""
