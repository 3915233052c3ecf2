"""
The discardable attributes of lowered IR: what passes tell targets beyond what the ops say.

IR without them means the same. Targets make other text of it.
"""

from __future__ import annotations

COMMENT = "layout.comment"
"""of any op: words for people, which targets print"""

THREADS = "layout.threads"
"""of an scf.parallel: how many threads share its iterations; without it, as many as OpenMP takes"""

PREFETCH = "layout.prefetch"
"""of a load of lanes: so many elements further on lies what is asked for into the second-level cache meanwhile"""

WITHIN = "layout.within"
"""of a masked load: all lanes lie in the buffer; those that the mask leaves out may be loaded, and dropped"""

INSERTED = "layout.inserted"
"""of a shuffle: the second vector, of memory, is inserted behind the first"""

INLINED = "layout.inlined"
"""of a function: it stands for its text, and what it gives is stored as it is"""

EXACT = "layout.exact"
"""of a product: it has no more places than its type, so that it may be left unrounded where it is added"""

TO_INTEGER = "layout.to_integer"
"""of a division: all it gives becomes integers, after integers of at most 32 bits were added"""

IS_NORMAL = "layout.is_normal"
"""of what is narrowed to bf16: no number is subnormal"""

IS_SCALED = "layout.is_scaled"
"""the same, where each is an integer, less a parameter if there is one, times a parameter"""
