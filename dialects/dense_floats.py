"""
The bits of floats in dense constants, which xDSL 0.74 prints, and takes for large integers when it reads them.

    arith.constant dense<0x4B400000> : vector<16xf32>

Importing this makes xDSL's parser read what its printer writes, as MLIR does: 12582912.0, which has too many digits
for a decimal there. Numbers by themselves are read in that way already.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat
from xdsl.parser import AttrParser

_Element = AttrParser._TensorLiteralElement  # pyright: ignore[reportPrivateUsage]
_to_type: Any = _Element.to_type


def _to_type_by_bits(self: Any, parser: AttrParser, type: Any) -> Any:
    if not isinstance(type, AnyFloat) or not self.span.text.lower().lstrip("-").startswith("0x"):
        return _to_type(self, parser, type)
    if self.is_negative:
        parser.raise_error("the bits of a float have no sign", at_position=self.span)
    if self.value >> type.bitwidth:
        parser.raise_error(f"got more bits than the {type.bitwidth} of {type.name}", at_position=self.span)
    return cast("tuple[float, ...]", type.unpack(self.value.to_bytes(type.compile_time_size, "little"), 1))[0]


# Importing it twice, as tests do, must not wrap it twice.
if _to_type.__name__ != _to_type_by_bits.__name__:
    _Element.to_type = _to_type_by_bits
