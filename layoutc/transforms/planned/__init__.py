"""Plans as loop nests: tiles of whole registers, buffers on the stack, and the loops around them."""
