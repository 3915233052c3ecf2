"""How C spells single ops on numbers and on vectors."""
