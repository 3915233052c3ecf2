"""Functions as C text: scopes, statements, loops, buffers, and which expressions become variables."""
