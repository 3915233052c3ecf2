"""Plans as data: the decisions about each copy, the loops that copies share, and the lines of their text."""
