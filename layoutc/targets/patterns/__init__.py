"""What several ops of the IR say together, and C says at once."""
