"""The error of an emitter."""

from xdsl.ir import Operation

from layoutc.errors import LayoutcError


class EmissionError(LayoutcError):
    """IR that the target language has no words for."""


def no_spelling(op: Operation, reason: str = "") -> EmissionError:
    """The error for an op that the C target does not know, or knows but for `reason`."""
    # An op of an unknown dialect carries its own name as an attribute.
    name = getattr(getattr(op, "op_name", None), "data", op.name)
    if op.name.startswith("layout."):
        reason = "before the pass lower-reorders, which makes loops of it"
    return EmissionError(f"no C spelling for '{name}'" + (f" {reason}" if reason else ""))
