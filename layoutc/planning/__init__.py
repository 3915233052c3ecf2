"""From a reorder to a plan: every decision as data. Nothing here knows IR."""
