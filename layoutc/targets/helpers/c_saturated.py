"""
Clamped lanes of 32 bits as bytes, by instructions that narrow two registers and saturate (`saturated` finds them).

An f32 becomes an integer of 32 bits first, which rounds half to even: NaN and what is too large become the least one,
and that the least pair of bytes. So where a pair is not the least, all that saturates is right. Where one is, it may
be a number that is small indeed: then all registers are done once more, from numbers that fit pairs, with 0 for NaN.
The branch is rare but for negative infinities, and takes one comparison for four registers, where to clamp each takes
three.

Quotients are products of the dividend with the reciprocal, corrected (`c_quotient` proves that they are right where
nothing overflows). What overflows in the correction becomes NaN, and so does an infinite dividend: both are divided
once more, in that branch: products with what is bounded, or chosen, took 1.1 to 1.3 times as long. Below 2^-40 a
quotient may have other last bits. By itself it becomes 0 all the same; so does its sum with a zero point below 1/4, and
any other has places too large for that to count. By a divisor that is not usual, all are divided.

NEON makes NaN 0 itself, and what is too large the nearest integer. There the dividend is bounded first, by 2^64 times
the divisor: what is beyond saturates like that, whatever zero point of 32 bits is added.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import f32

from layoutc.targets.helpers.c_packed import ARM, ARM_BYTES, packed_prelude, spell_product, x86
from layoutc.targets.helpers.c_whole import block
from layoutc.targets.patterns.c_quotient import with_fused
from layoutc.targets.patterns.fourth_bytes import BYTE, PAIR, WORD
from layoutc.targets.patterns.saturated import LIMITS, Saturated
from layoutc.targets.words.c_expressions import Expression, call, floating
from layoutc.targets.words.c_text import BREAK, broken, first_found, listed, words
from layoutc.targets.words.c_vector_types import VECTOR_TYPE, VectorType, macro

NAME = rf"saturated_((?:quotient_)?(?:shifted_)?(?:limited_)?)({VECTOR_TYPE})_({VECTOR_TYPE})"
"""a regular expression for the names: what is narrowed is group 1, the types are groups 2 and 4"""
LETTERS = "abcd"
WORDS_ONLY = 16
"""bytes of the registers of which some x86 has the lesser of signed pairs of bytes, but not of signed bytes"""


# --- calls -------------------------------------------------------------------------------------------------------


def spell_saturated(found: Saturated, given: Sequence[Expression]) -> Expression:
    """The call of the macro, with what it mentions."""
    limits = [floating(limit, f32) for limit in found.limits]
    if found.factors:
        given = _products(found, given)
    return call(Macro.of(found).name, *given, *limits)


def _products(found: Saturated, given: Sequence[Expression]) -> list[Expression]:
    """Numbers that two products make."""
    count = len(found.numbers)
    parts = zip(*(given[start : start + count] for start in range(0, len(given), count)), strict=True)
    return [spell_product(found.wide, part, factors) for part, factors in zip(parts, found.factors, strict=True)]


# --- texts -------------------------------------------------------------------------------------------------------


def saturated_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses, behind those that they are made from."""
    found = [Macro.named(match) for name in sorted(used) if (match := re.fullmatch(NAME, name))]
    plain = [each for made in found if (each := made._replace(is_quotient=False, is_shifted=False)) not in found]
    texts = [made.text() for made in (*dict.fromkeys(plain), *found)]
    return [*packed_prelude(used | words("\n".join(texts))), *texts]


class Macro(NamedTuple):
    """One of them, by what its name says."""

    is_quotient: bool
    is_shifted: bool
    is_limited: bool
    wide: VectorType
    narrow: VectorType

    @classmethod
    def named(cls, match: re.Match[str]) -> Macro:
        quotient, shifted, limited = (word in match[1] for word in ("quotient", "shifted", "limited"))
        return cls(quotient, shifted, limited, VectorType.named(match[2]), VectorType.named(match[4]))

    @classmethod
    def of(cls, found: Saturated) -> Macro:
        by_products = bool(found.quotients) and not found.factors
        is_shifted = by_products and found.quotients[0].zero_point is not None
        return cls(by_products, is_shifted, found.limits not in LIMITS, found.wide, found.narrow)

    @property
    def name(self) -> str:
        asked = zip(("quotient_", "shifted_", "limited_"), self[:3], strict=True)
        return f"saturated_{''.join(word for word, is_asked in asked if is_asked)}{self.wide}_{self.narrow}"

    @property
    def registers(self) -> str:
        """A letter for each."""
        return LETTERS[: self.narrow.lanes // self.wide.lanes]

    @property
    def groups(self) -> tuple[str, ...]:
        """What the names of parameters end with: of numbers or dividends, divisors and zero points."""
        return ("", *(["_by"] if self.is_quotient else []), *(["_more"] if self.is_shifted else []))

    @property
    def parameters(self) -> str:
        groups = (listed(f"{each}{end}" for each in self.registers) for end in self.groups)
        return f", {BREAK}".join((*groups, "low, high"))

    def text(self) -> str:
        if not self.is_quotient:
            return first_found(self._by_condition(), self._portable())
        divided = (f"({each}) / ({each}_by){f' + ({each}_more)' * self.is_shifted}" for each in self.registers)
        plain = self._replace(is_quotient=False, is_shifted=False)
        portable = (
            f"#define {self.name}({self.parameters}) \\\n  {plain.name}({f', {BREAK}'.join((*divided, 'low, high'))})"
        )
        return with_fused(self.wide, first_found(self._by_condition(), portable), portable)

    def _by_condition(self) -> dict[str, str]:
        """The texts for processors with instructions for such registers."""
        native = {x86(self.wide): self._native(has_nan=False, clamps_bytes=self.wide.bytes > WORDS_ONLY)}
        return native | ({ARM: self._native(has_nan=True, clamps_bytes=True)} if self.wide.bytes == ARM_BYTES else {})

    def _native(self, *, has_nan: bool, clamps_bytes: bool) -> str:
        """
        By saturating. Where that does not make NaN 0, `has_nan`, and floats that are too large the nearest integer,
        pairs of bytes show it.
        """
        asks = self.wide.kind == "f" and not has_nan
        pairs, letters = VectorType("i", PAIR, 2 * self.wide.lanes), self.registers
        numbers = [f"number_{each}_" if self.is_quotient else f"{each}_" for each in letters]
        steps = [*self._given(), *(self._divided(bounds=has_nan) if self.is_quotient else ())]
        steps += [f"{pairs} {statement}" for statement in self._narrowed(pairs, map(self._integers, numbers))]
        first, last = f"{letters[:2]}_", f"{letters[-2:]}_"
        if asks:
            near = [self._integers(f"near_{self.wide}({self._number(each)})") for each in letters]
            again = block(self._narrowed(pairs, near))
            steps.append(f"if (__builtin_expect(has_least_{pairs}({first}, {last}), 0)) {again}")
        if self.is_limited and not clamps_bytes:
            steps += [f"{each} = {_within(each, pairs)}" for each in dict.fromkeys((first, last))]
        packed = f"packed_{self._bytes}({first}, {last})"
        if self.is_limited and clamps_bytes:
            steps.append(f"const {self._bytes} bytes_ = {packed}")
            packed = _within("bytes_", self._bytes)
        return macro(self.name, self.parameters, *steps, self._in_order(packed))

    def _integers(self, number: str) -> str:
        return f"integers_{self.wide}({number})" if self.wide.kind == "f" else number

    @property
    def _bytes(self) -> VectorType:
        """A register of what they become."""
        return VectorType(self.narrow.kind, BYTE, 4 * self.wide.lanes)

    def _given(self) -> list[str]:
        """Each argument once."""
        return [f"const {self.wide} {each}{end}_ = ({each}{end})" for end in self.groups for each in self.registers]

    def _number(self, letter: str) -> str:
        """What is clamped, as it is written."""
        quotient = f"{letter}_ / {letter}_by_" if self.is_quotient else f"{letter}_"
        return f"{quotient} + {letter}_more_" if self.is_shifted else quotient

    def _divided(self, *, bounds: bool) -> list[str]:
        """The numbers that are quotients, by products where all divisors are usual; `bounds` keep these finite."""
        type, letters = self.wide, self.registers
        usual = " & ".join(f"usual_{type}({each}_by_)" for each in letters)
        shifts = [f" + {each}_more_" if self.is_shifted else "" for each in letters]
        dividends = [f"bounded_{type}({each}_, bound_{each}_)" if bounds else f"{each}_" for each in letters]
        by_products = [
            f"number_{each}_ = by_product_{type}({dividend}, {each}_by_, part_{each}_){shift}"
            for each, dividend, shift in zip(letters, dividends, shifts, strict=True)
        ]
        by_division = [f"number_{each}_ = {self._number(each)}" for each in letters]
        return [
            *(f"const {type} part_{each}_ = 1.0f / {each}_by_" for each in letters),
            *(f"const {type} bound_{each}_ = bound_{type}({each}_by_)" for each in letters if bounds),
            broken(f"const {type.mask} usual_ = {usual}"),
            f"{type} {', '.join(f'number_{each}_' for each in letters)}",
            f"if (__builtin_expect(all_{type.mask}(usual_), 1)) {block(by_products)} else {block(by_division)}",
        ]

    def _narrowed(self, pairs: VectorType, numbers: Iterable[str]) -> list[str]:
        """Two registers as one of pairs of bytes."""
        letters, numbers = self.registers, list(numbers)
        return [
            broken(f"{letters[at : at + 2]}_ = packed_{pairs}({numbers[at]}, {numbers[at + 1]})")
            for at in range(0, len(letters), 2)
        ]

    def _in_order(self, packed: str) -> str:
        """Their words: within each 16 bytes lie some of each register."""
        parts = self.wide.lanes // 4
        lanes = [4 * part + each for each in range(len(self.registers)) for part in range(parts)]
        if lanes == list(range(self.wide.lanes)):
            return f"({self.narrow}){packed}"
        words = VectorType("i", WORD, self.wide.lanes)
        mixed = f"const {words} mixed_ = ({words}){packed}"
        return f"{mixed}; \\\n    ({self.narrow})__builtin_shufflevector(mixed_, mixed_, {listed(lanes)})"

    def _portable(self) -> str:
        """Each clamped by itself, and every fourth byte taken."""
        wide, letters = self.wide, self.registers
        bits = [f"const {wide.mask} {each}_ = low_bits_{wide}({each}, low, high)" for each in letters]
        parts, steps, lane = list(letters), bits, PAIR
        while len(parts) > 1:
            type = VectorType("i", lane, wide.bytes * BYTE // lane)
            evens = listed(range(0, 2 * type.lanes, 2))
            joined = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
            steps += [
                broken(f"const {type} {a}{b}_ = __builtin_shufflevector(({type}){a}_, ({type}){b}_, {evens})")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            parts, lane = joined, lane // 2
        (made,) = parts
        if len(letters) == 2:
            pairs = VectorType("i", PAIR, 2 * wide.lanes)
            return macro(
                self.name, self.parameters, *steps, f"__builtin_convertvector(({pairs}){made}_, {self.narrow})"
            )
        return macro(self.name, self.parameters, *steps, f"({self.narrow}){made}_")


def _within(name: str, type: VectorType) -> str:
    """Lanes within limits of their own."""
    low, high = (f"({type}){{0}} + (int{type.bits}_t)({limit})" for limit in ("low", "high"))
    return f"min_{type}(max_{type}({name}, {low}), {high})"
