"""One copy whose elements keep their width: its tile, its macro tiles and loops, and how it is stored."""
