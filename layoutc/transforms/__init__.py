"""Passes: `resolve-layouts`, `plan-reorders` and `lower-reorders`, and what canonicalization does.

The rooms are those of `lower-reorders`, and each imports only what stands before it: `building`, `values`, `plain`,
`sums`, `planned`.
"""
