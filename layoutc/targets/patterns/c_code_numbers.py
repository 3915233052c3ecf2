"""
The numbers that codes of 4 bits are, looked up in a register of all sixteen.

    %code = arith.andi %wide, %c15 : vector<16xi32>
    %turned = arith.xori %code, %c8 : vector<16xi32>
    %integer = arith.subi %turned, %c8 : vector<16xi32>
    %number = arith.sitofp %integer : vector<16xi32> to vector<16xf32>

The instruction asks for the low bits alone, so that one is what four, and a shift where lanes are cut, were.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation

from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import F32_REGISTER, behind, is_f32_register
from layoutc.walk import operands

NUMBER_OF_CODE = "number_of_code"
CODES = 16
"""as many as a register has f32"""
STEPS = ((arith.SubiOp, 8), (arith.XOrIOp, 8), (arith.AndIOp, 15))
"""from the integer back to what holds the code"""


def code_number(op: Operation) -> MacroCall | None:
    """The numbers of the codes that something holds in its low bits, if an op gives these."""
    is_number = op.__class__ is arith.SIToFPOp and is_f32_register(op.results[0].type)
    code = behind(operands(op)[0], *STEPS) if is_number else None
    return None if code is None else MacroCall(f"{NUMBER_OF_CODE}_{F32_REGISTER}", (code,), F32_REGISTER)


def number_of_code(type: Named) -> str:
    """The macro, by the instruction or by the four steps."""
    numbers = ", ".join(f"{code - 2 * (code & 8)}.0f" for code in range(CODES))
    name, codes = f"{NUMBER_OF_CODE}_{type}", f"({type.mask})(code)"
    return f"""#define {name}_table (({type}){{{numbers}}})
#if defined(__clang__) && defined(__AVX512F__)
#define {name}(code) \\
  (({type})__builtin_ia32_permvarsf512({name}_table, {codes}))
#elif defined(__AVX512F__)
#define {name}(code) \\
  (({type})__builtin_ia32_permvarsf512_mask( \\
      {name}_table, {codes}, {name}_table, (uint16_t)-1))
#else
#define {name}(code) \\
  __builtin_convertvector((({codes} & 15) ^ 8) - 8, {type})
#endif"""
