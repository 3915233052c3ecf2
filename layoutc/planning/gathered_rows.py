"""What copies must be like whose rows are converted on their way into a buffer."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.plan import CopyPlan, Part, is_power_of_two
from layoutc.planning.shared_bytes import first_inside_a_byte


def gathers_bytes(plan: CopyPlan) -> bool:
    """Whether rows that are gathered, and what tiles store, begin and end with bytes."""
    share = plan.widths.src_per_byte
    if prod(plan.loaded_steps(position) for position in plan.row_digits) % share:
        return False
    rows = (Part(plan.row_digits[0], share),) if share > 1 else plan.source_lanes
    by_rows = replace(plan, load="normal", converted_at="src", source_lanes=rows)
    return first_inside_a_byte(by_rows) is None and first_inside_a_byte(plan.gathered) is None


def is_transposed(plan: CopyPlan) -> bool:
    """Whether registers are loaded along other digits than they are stored along."""
    lanes = *plan.source_lanes, *plan.target_lanes
    loaded, stored = ({part.digit for part in parts} for parts in (plan.source_lanes, plan.target_lanes))
    is_network = plan.merges or all(is_power_of_two(part.extent) for part in lanes)
    return is_network and bool(loaded and stored) and loaded != stored
