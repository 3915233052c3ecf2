"""
NaN made other ones: two choices between a number and something else, for which processors have an instruction.

`%y` where `%x` is NaN, as numbers become the usual NaN:

    %nan = arith.cmpf uno, %x, %x : vector<16xf32>
    %number = arith.select %nan, %y, %x : vector<16xi1>, vector<16xf32>

and a NaN that signals made quiet, which its bits say:

    %x = arith.bitcast %bits : vector<16xi32> to vector<16xf32>
    %quiet = arith.ori %bits, %c4194304 : vector<16xi32>
    %nan = arith.cmpf uno, %x, %x : vector<16xf32>
    %number = arith.select %nan, %quiet, %bits : vector<16xi1>, vector<16xi32>
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.ir import Operation

from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.words.c_text import either
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.c_vector_types import macro
from layoutc.targets.words.vectors import F32_LANES, F32_REGISTER, is_f32_register, splat
from layoutc.walk import operands, relation

QUIET = 1 << 22
"""the bit that a quiet NaN has"""
KEPT, TAKEN, MADE_QUIET = 0, 1, 2
"""what becomes of a number of a class: what stands in the register, the number, or its NaN made quiet"""
CLASSES = 8
"""quiet NaN, signalling NaN, zero, one, -infinity, infinity, negative and positive numbers: 4 bits for each"""
HAS_CHOICE = "defined(__AVX512F__)"
"""what gcc and clang both call the instruction by then"""
CALLED = "__builtin_ia32_fixupimmps512_mask"
TAKE_NUMBERS = sum(TAKEN << 4 * number for number in range(2, CLASSES))
USUAL_NAN, QUIET_NAN = "usual_nan", "quiet_nan"
BITS = Named("i", 32, F32_LANES)


def nan_choice(op: Operation) -> MacroCall | None:
    """The choice that an op is, if it is one of a whole register."""
    if op.__class__ is not arith.SelectOp:
        return None
    condition, yes, no = operands(op)
    asked = condition.owner
    if asked.__class__ is not arith.CmpfOp:
        return None
    lhs, rhs = operands(cast("Operation", asked))
    if lhs is not rhs or not is_f32_register(lhs.type):
        return None
    if relation(cast("Operation", asked)) != "uno":
        return None
    if lhs is no:
        return MacroCall(f"{USUAL_NAN}_{F32_REGISTER}", (yes, no), F32_REGISTER)
    number, quiet = lhs.owner, yes.owner
    is_same = isinstance(number, arith.BitcastOp) and number.input is no
    is_quiet = isinstance(quiet, arith.OrIOp) and quiet.lhs is no and splat(quiet.rhs) == QUIET
    return MacroCall(f"{QUIET_NAN}_{F32_REGISTER}", (no,), BITS) if is_same and is_quiet else None


def usual_nan(type: Named) -> str:
    """The macro of the first choice."""
    name = f"{USUAL_NAN}_{type}"
    given = f"const {type} no_ = (x)", f"const {type.mask} nan_ = ({type.mask})(no_ != no_)"
    chosen = f"({type})((({type.mask})(y) & nan_) | (({type.mask})no_ & ~nan_))"
    native = f"({type}){_fixed(type, 'y', 'x', KEPT, KEPT)}"
    return either(HAS_CHOICE, macro(name, "y, x", native), macro(name, "y, x", *given, chosen))


def quiet_nan(type: Named) -> str:
    """The macro of the second one, on bits."""
    name, bits = f"{QUIET_NAN}_{type}", f"const {type.mask} bits_ = (bits)"
    number = f"const {type} number_ = ({type})bits_"
    native = f"({type.mask}){_fixed(type, 'number_', 'number_', TAKEN, MADE_QUIET)}"
    chosen = f"bits_ | (({type.mask})(number_ != number_) & {QUIET:#x})"
    return either(HAS_CHOICE, macro(name, "bits", bits, number, native), macro(name, "bits", bits, number, chosen))


def _fixed(type: Named, kept: str, number: str, quiet: int, signalling: int) -> str:
    """Lanes of `kept`, and of a number, as the classes of NaN ask for."""
    table = TAKE_NUMBERS | quiet | signalling << 4
    return f"{CALLED}({kept}, {number}, ({type.mask}){{0}} + {table:#x}, 0, (uint16_t)-1, 4)"
