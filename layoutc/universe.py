"""What stock `xdsl-opt` gains when layoutc is installed: a dialect, passes and two targets."""

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

# Text is read of what reorders are lowered to: arithmetic on vectors, floats as their bits, constants, lines that are
# asked for.
import layoutc.dialects.arith_on_vectors  # pyright: ignore[reportUnusedImport]
import layoutc.dialects.dense_floats  # pyright: ignore[reportUnusedImport]
import layoutc.dialects.global_text  # pyright: ignore[reportUnusedImport]
import layoutc.memref_prefetch  # noqa: F401  # pyright: ignore[reportUnusedImport]


def _layout() -> Dialect:
    from layoutc.dialects.layout import Layout

    return Layout


def _resolve_layouts() -> type[ModulePass]:
    from layoutc.transforms.resolve_layouts import ResolveLayoutsPass

    return ResolveLayoutsPass


def _outline_reorders() -> type[ModulePass]:
    from layoutc.transforms.outline_reorders import OutlineReordersPass

    return OutlineReordersPass


def _plan_reorders() -> type[ModulePass]:
    from layoutc.transforms.plan_reorders import PlanReordersPass

    return PlanReordersPass


def _lower_reorders() -> type[ModulePass]:
    from layoutc.transforms.lower_reorders import LowerReordersPass

    return LowerReordersPass


def _c() -> type[Target]:
    from layoutc.targets.c import CTarget

    return CTarget


def _c_header() -> type[Target]:
    from layoutc.targets.c_header import CHeaderTarget

    return CHeaderTarget


LAYOUTC_UNIVERSE = Universe(
    all_dialects={"layout": _layout},
    all_passes={
        "resolve-layouts": _resolve_layouts,
        "outline-reorders": _outline_reorders,
        "plan-reorders": _plan_reorders,
        "lower-reorders": _lower_reorders,
    },
    all_targets={"c": _c, "c-header": _c_header},
)
