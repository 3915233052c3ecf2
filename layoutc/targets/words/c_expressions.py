"""C expressions as text that knows its precedence, so that parentheses stand only where C needs them."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import NamedTuple
from typing import cast as cast_type

from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from layoutc.targets.words.c_types import is_boolean, is_float, is_unsigned, width

ATOM, UNARY, PRODUCT, SUM, TERNARY = 16, 14, 13, 12, 3
PRECEDENCE = {
    **dict.fromkeys(("*", "/", "%"), PRODUCT),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("<<", ">>"), 11),
    **dict.fromkeys(("<", ">", "<=", ">="), 10),
    **dict.fromkeys(("==", "!="), 9),
    "&": 8,
    "^": 7,
    "|": 6,
}


class Expression(NamedTuple):
    """The text of a C expression. `reads` says that it reads memory, so that no store may overtake it."""

    text: str
    precedence: int = ATOM
    reads: bool = False
    literal: int | None = None
    """the value, of an integer literal"""
    mask_bits: int = 0
    """how wide the lanes are, of a vector of i1"""
    compared: tuple[str, str] = ("", "")
    """of what one comparison of vectors gives: the helper that chooses by it, and the text of both sides"""

    @property
    def is_name(self) -> bool:
        """It is one variable, and needs no other."""
        return self.text.isidentifier()

    def at_least(self, precedence: int) -> str:
        """The text, in parentheses unless it binds at least as tightly."""
        return self.text if self.precedence >= precedence else f"({self.text})"


def binary(operator: str, lhs: Expression, rhs: Expression) -> Expression:
    """
    `lhs operator rhs`. Operators that readers (and compilers' warnings) do not rank get parentheses
    even where C would do without.
    """
    precedence = PRECEDENCE[operator]
    if precedence >= SUM:
        left, right = precedence, precedence + 1
    elif operator in ("<", ">", "<=", ">=", "==", "!="):
        left = right = SUM
    else:
        left = right = UNARY
    text = f"{lhs.at_least(left)} {operator} {rhs.at_least(right)}"
    return Expression(text, precedence, lhs.reads or rhs.reads)


def unary(operator: str, operand: Expression) -> Expression:
    text = operand.at_least(UNARY)
    return Expression(f"{operator}({text})" if text.startswith("-") else operator + text, UNARY, operand.reads)


def cast(type_name: str, operand: Expression) -> Expression:
    return Expression(f"({type_name}){operand.at_least(UNARY)}", UNARY, operand.reads)


def call(function: str, *arguments: Expression) -> Expression:
    text = ", ".join(argument.text for argument in arguments)
    return Expression(f"{function}({text})", reads=any(argument.reads for argument in arguments))


def ternary(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    parts = (condition, then, otherwise)
    # Compilers warn of bit operators in a condition without parentheses.
    texts = [condition.at_least(PRECEDENCE["=="]), *(part.at_least(TERNARY + 1) for part in parts[1:])]
    return Expression("{} ? {} : {}".format(*texts), TERNARY, any(part.reads for part in parts))


def element(pointer: Expression, offset: Expression) -> Expression:
    """`pointer[offset]`, as a value that is read."""
    return Expression(f"{pointer.at_least(ATOM)}[{offset.text}]", reads=True)


def address(pointer: Expression, offset: Expression) -> Expression:
    """`pointer + offset`, as an address; the pointer alone where the offset is 0."""
    return pointer if offset.literal == 0 else binary("+", pointer, offset)


def integer(value: int, type: Attribute) -> Expression:
    """The literal of an integer type, its bits taken as C's type for it holds them."""
    if type.__class__ is IndexType and 0 <= value < 1 << 31:
        return Expression(str(value), literal=value)
    bits = width(type)
    value %= 1 << bits
    if not (is_unsigned(type) or is_boolean(type)) and value >> (bits - 1):
        value -= 1 << bits
    if value == -(1 << 31) or value == -(1 << 63):
        # C reads -2147483648 as minus 2147483648, which has a wider type, or none.
        return Expression(f"INT{64 if value < -(1 << 31) else 32}_MIN", literal=value)
    suffix = "u" if value >= 1 << 63 else ""
    return Expression(f"{value}{suffix}", UNARY if value < 0 else ATOM, literal=value)


def wide(operand: Expression, type: Attribute) -> Expression:
    """A literal with the full width of its type; a plain `5` is an int in C, and int arithmetic overflows early."""
    if operand.literal is None or width(type) < 64:
        return operand
    return operand._replace(text=f"(int64_t){operand.at_least(UNARY)}", precedence=UNARY)


def floating(value: float, type: Float32Type | Float64Type) -> Expression:
    """The shortest decimal literal that C reads back as exactly this number."""
    suffix = "f" if isinstance(type, Float32Type) else ""
    if math.isfinite(value):
        text = (_shortest_f32(abs(value)) if suffix else repr(abs(value))) + suffix
    else:
        text = f'__builtin_nan{suffix}("")' if math.isnan(value) else f"__builtin_inf{suffix}()"
    negative = math.copysign(1.0, value) < 0
    return Expression(f"-{text}", UNARY) if negative else Expression(text)


@lru_cache(maxsize=1 << 16)
def _shortest_f32(value: float) -> str:
    # What so many digits say, more do too: most numbers take 7 or more.
    digits = range(7, 10) if _said_by(value, 6) is None else range(1, 7)
    return next((repr(found) for n in digits if (found := _said_by(value, n)) is not None), repr(value))


def _said_by(value: float, digits: int) -> float | None:
    """A number of so many decimal digits that is read as this f32, if there is one."""
    # Rounding up past the largest f32 is not a shorter name for it.
    rounded = float(f"{value:.{digits}g}")
    is_read = rounded <= 3.4028235677973366e38 and struct.unpack("f", struct.pack("f", rounded))[0] == value
    return rounded if is_read else None


def literal(value: int | float, type: Attribute) -> Expression:
    """A number of an integer or a float type; of floats that C does not calculate with, the bits."""
    if isinstance(type, IntegerType):
        return integer(int(value), cast_type(Attribute, type))
    return floating(value, type) if is_float(type) else _bits_literal(value, type)


def _bits_literal(value: float, type: Attribute) -> Expression:
    """A constant of a float type that C has only the bits of: `0x3c00` for 1.0 : f16."""
    packed: bytes = type.pack((value,))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    bits = int.from_bytes(packed, "little")  # pyright: ignore[reportUnknownArgumentType]
    return Expression(f"{bits:#x}" if bits else "0", literal=bits)
