"""From a reorder to a plan: every decision as data. Nothing here knows IR.

`choose.py` makes a plan of the copies of `reorder_copies.py`, for as many threads, and through the caches or past them,
as `threads.py` says. `plan_text.py` prints and reads it, `plan_checks.py` and `plan_covers.py` check one that was
edited, `explain.py` puts it in words, `alternatives.py` and `neighbours.py` make others to try. The rooms, each of
which imports only what stands before it: `copies`, `plans`, `shuffles`, `tiles`, `moves`, `conversions`, `together`,
`through`.
"""
