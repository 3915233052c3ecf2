"""Networks of vector shuffles: which instructions move elements from lanes of loads to lanes of stores."""
