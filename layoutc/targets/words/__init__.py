"""What all emitted C is made of: types, expressions and lines of text; and what is known of integers."""
