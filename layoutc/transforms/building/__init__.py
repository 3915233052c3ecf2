"""How IR is built: loops, offsets, and the ops of vectors, by the hundred."""
