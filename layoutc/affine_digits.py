"""Affine maps as digits: reads xDSL's AffineMap into a layout, and writes a layout as an AffineMap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from layoutc.affine_text import digit_expr
from layoutc.checks import shown
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Digit, Layout
from layoutc.notations.reading import Reading

_UNKNOWN = "Identifier not in space"
"""how xDSL begins to say that a name is none of the map's"""
_Add, _Mul = AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul


class MapError(LayoutcError):
    """A map that does not read as digits; `result` is the number of the result that does not."""

    def __init__(self, message: str, result: int = 0):
        self.result = result
        super().__init__(message)


@dataclass(frozen=True)
class _Term:
    """`coefficient * ((sum floordiv divisor) mod modulus)`; the sum is (axis, coefficient) pairs, largest first."""

    sum: tuple[tuple[int, int], ...]
    divisor: int = 1
    modulus: int | None = None
    coefficient: int = 1

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(axis for axis, _ in self.sum)

    @property
    def top(self) -> int | None:
        """The first coordinate that this piece does not tell from 0, None if it tells all."""
        return None if self.modulus is None else self.divisor * self.modulus


def read_map(
    map: AffineMap, dims: Sequence[int] | None, axis_names: Sequence[str] = (), *, physical: bool = False
) -> Reading:
    """
    What a map says about memory: several results are physical axes, one result is an offset in elements.

    With `physical` one result is a physical axis too. `dims` (if known) may explain axes that are absent
    because they have one coordinate. Raises MapError for a map that does not read as digits.
    """
    if map.num_symbols:
        raise MapError(f"the map has {map.num_symbols} symbols, expected none")
    if dims is not None and len(dims) != map.num_dims:
        raise MapError(f"dims {tuple(dims)} have rank {len(dims)}, the map has {map.num_dims} dims")
    reader = _read_offset if len(map.results) == 1 and not physical else _read_physical
    try:
        return reader(map, None if dims is None else tuple(dims), tuple(axis_names))
    except MapError:
        raise
    except LayoutcError as error:
        raise MapError(str(error)) from None


def parser_fault(error: Exception) -> str | None:
    """What an exception means that xDSL's affine parser and arithmetic let out; None for any other."""
    match error:
        case NotImplementedError():
            return "a product or quotient of axes is not affine"
        case RecursionError():
            return "nested too deeply"
        case ZeroDivisionError():
            return "division by 0"
        case ValueError() if "digits" in str(error):
            return "a number has too many digits"
        case ValueError() if str(error).startswith("invalid literal for int"):
            return "a number has a digit that is none of 0 to 9"  # the lexer takes all of Unicode's, as ²
        case _:
            return None


def parse_map(text: str, start: int, stop: int) -> AffineMap:
    """
    The map that `text[start:stop]` spells, `(n, c) -> (n, c floordiv 8, c mod 8)`.

    Raises NotationError, with the column in the whole text, for one that MLIR does not read either.
    """
    from xdsl.context import Context
    from xdsl.parser import Parser
    from xdsl.utils.exceptions import ParseError

    try:
        parser = Parser(Context(), text[start:stop])
        found = parser.parse_affine_map()
        rest = parser._current_token  # pyright: ignore[reportPrivateUsage] no public way to ask for the end
        if rest.kind.name != "EOF":
            raise ParseError(rest.span, "expected the end of the map")
        return found
    except ParseError as error:
        message = error.msg.splitlines()[0]
        if message.startswith(_UNKNOWN):
            names = re.findall(r"[^\s(),\[\]]+", text[start : text.index("->", start)])
            known = f"expected one of {shown(' '.join(names))}" if names else "the map has none"
            message = f"unknown axis {error.span.text!r}, {known}"
        raise NotationError(text, start + error.span.start, message[:1].lower() + message[1:]) from None
    except Exception as error:
        message = parser_fault(error)
        if message is None:
            raise
        raise NotationError(text, text.find("(", text.find("->")) + 1, message) from None


def physical_map(layout: Layout, extents: Sequence[int]) -> AffineMap:
    """
    The map from a logical index to the physical one, a result per digit.

    `extents` are the coordinate counts of the axes; only those of flattened axes are used.
    """
    dims = [AffineExpr.dimension(axis) for axis in range(layout.rank)]
    results = [digit_expr(digit, extents, dims) for digit in layout.digits]
    return AffineMap(layout.rank, 0, tuple(results))


# --- several results: physical axes --------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _read_physical(map: AffineMap, dims: tuple[int, ...] | None, names: tuple[str, ...]) -> Reading:
    terms: list[_Term] = []
    for number, result in enumerate(map.results):
        if result == AffineExpr.constant(0):
            continue
        try:
            terms.append(_piece(result))
        except MapError as error:
            raise MapError(str(error), number) from None
    digits = [Digit(term.axes, term.divisor, term.modulus) for term in terms]
    missing = set(range(map.num_dims)) - {axis for digit in digits for axis in digit.axes}
    for axis in sorted(missing):
        if dims is None or dims[axis] != 1:
            raise MapError(f"axis {names[axis] if names else f'd{axis}'} is in no result")
        digits.append(Digit((axis,)))
    return Reading(Layout(map.num_dims, tuple(digits), axis_names=names), dims, extents=_extents(terms))


def _piece(expr: AffineExpr) -> _Term:
    """A result that is one digit. Raises MapError if it is none."""
    if not isinstance(expr, AffineBinaryOpExpr) or expr.kind in (_Add, _Mul):
        return _Term(_sum(expr))
    inner, by = _piece(expr.lhs), _divisor(expr)
    match expr.kind:
        case AffineBinaryOpKind.FloorDiv:
            return _floordiv(inner, by)
        case AffineBinaryOpKind.Mod:
            return _mod(inner, by)
        case _:
            raise MapError("ceildiv is not a digit, expected floordiv and mod")


def _divisor(expr: AffineBinaryOpExpr) -> int:
    if not isinstance(expr.rhs, AffineConstantExpr) or expr.rhs.value < 1:
        raise MapError(f"{expr.kind.name.lower()} by {expr.rhs}, expected a positive number")
    return expr.rhs.value


def _floordiv(inner: _Term, by: int) -> _Term:
    if inner.modulus is None:
        return _Term(inner.sum, inner.divisor * by)
    if inner.modulus % by:
        raise MapError(f"mod {inner.modulus} floordiv {by} is not a digit, {by} does not divide {inner.modulus}")
    return _Term(inner.sum, inner.divisor * by, inner.modulus // by)


def _mod(inner: _Term, by: int) -> _Term:
    if inner.modulus is not None and inner.modulus % by:
        raise MapError(f"mod {inner.modulus} mod {by} is not a digit, {by} does not divide {inner.modulus}")
    return _Term(inner.sum, inner.divisor, by)


def _sum(expr: AffineExpr) -> tuple[tuple[int, int], ...]:
    """An axis, or axes flattened row-major, as (axis, coefficient) pairs."""
    coefficients: dict[int, int] = {}
    for coefficient, atom in _addends(expr):
        if isinstance(atom, AffineConstantExpr):
            raise MapError(f"constant {coefficient * atom.value} in a digit: give a border as low and high")
        if not isinstance(atom, AffineDimExpr):
            raise MapError(f"{atom} in a sum of axes is not a digit")
        coefficients[atom.position] = coefficients.get(atom.position, 0) + coefficient
    # Axes of equal coefficients (extents of 1) stay as they are written.
    pairs = sorted(coefficients.items(), key=lambda pair: -pair[1])
    for (axis, outer), (_, inner) in pairwise(pairs):
        if inner < 1 or outer % inner:
            raise MapError(f"coefficients {outer} of d{axis} and {inner} do not flatten axes row-major")
    if pairs[-1][1] != 1:
        raise MapError(f"d{pairs[-1][0]} * {pairs[-1][1]} skips positions, expected coefficient 1")
    return tuple(pairs)


def _addends(expr: AffineExpr, factor: int = 1) -> Iterator[tuple[int, AffineExpr]]:
    """The expression as a sum of coefficient x atom, constants distributed."""
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind == _Add:
        yield from _addends(expr.lhs, factor)
        yield from _addends(expr.rhs, factor)
    elif isinstance(expr, AffineBinaryOpExpr) and expr.kind == _Mul:
        if not isinstance(expr.rhs, AffineConstantExpr):
            raise MapError(f"{expr} is not affine")
        yield from _addends(expr.lhs, factor * expr.rhs.value)
    else:
        yield factor, expr


def _extents(terms: Sequence[_Term]) -> tuple[tuple[int, int], ...]:
    """The coordinate counts that the coefficients of flattened axes imply."""
    implied: dict[int, int] = {}
    for term in terms:
        for (_, outer), (axis, inner) in pairwise(term.sum):
            if implied.setdefault(axis, outer // inner) != outer // inner:
                raise MapError(f"coefficients imply {implied[axis]} and {outer // inner} coordinates of axis d{axis}")
    return tuple(sorted(implied.items()))


# --- one result: an offset -----------------------------------------------------------------------------------------


def _read_offset(map: AffineMap, dims: tuple[int, ...] | None, names: tuple[str, ...]) -> Reading:
    terms, base = _terms(map.results[0])
    groups: dict[tuple[int, ...], list[_Term]] = {}
    for term in terms:
        groups.setdefault(term.axes, []).append(term)
    for axis in set(range(map.num_dims)) - {axis for axes in groups for axis in axes}:
        groups[(axis,)] = []
    strided = [piece for axes in sorted(groups) for piece in _strided_digits(axes, groups[axes])]
    # A stride of 0 is as good as any outermost one: no element lies between.
    strided.sort(key=lambda pair: (pair[1] != 0, -pair[1]))
    layout = Layout(map.num_dims, tuple(digit for digit, _ in strided), axis_names=names)
    return Reading(layout, dims, tuple(stride for _, stride in strided), base, extents=_extents(terms))


def _terms(expr: AffineExpr) -> tuple[list[_Term], int]:
    """The digits x strides that an offset is the sum of, and its constant."""
    terms: list[_Term] = []
    base = 0
    for coefficient, atom in _addends(expr):
        if isinstance(atom, AffineConstantExpr):
            base += coefficient * atom.value
            continue
        piece = _piece(atom)
        if coefficient < 0:
            raise MapError(f"stride {coefficient} of {atom} is negative")
        terms.append(_Term(piece.sum, piece.divisor, piece.modulus, coefficient))
    if base < 0:
        raise MapError(f"base offset {base} is negative")
    return terms, base


def _strided_digits(axes: tuple[int, ...], terms: Sequence[_Term]) -> list[tuple[Digit, int]]:
    """
    Digits of one axis and their strides, the most significant first.

    Terms may overlap: `d0 + (d0 floordiv 8) * 4` are the digits `d0 floordiv 8` by 12 and `d0 mod 8` by 1.
    """
    cuts = sorted({1, *(t.divisor for t in terms), *(t.top for t in terms if t.top is not None)})
    for low, high in pairwise(cuts):
        if high % low:
            raise MapError(f"{low} and {high} cut axis d{axes[0]} into pieces that do not nest")
    pieces: list[tuple[Digit, int]] = []
    for low, high in zip(cuts, [*cuts[1:], None], strict=True):
        covering = [t for t in terms if t.divisor <= low and (t.top is None or low < t.top)]
        stride = sum(t.coefficient * (low // t.divisor) for t in covering)
        pieces.append((Digit(axes, low, None if high is None else high // low), stride))
    return pieces[::-1]
