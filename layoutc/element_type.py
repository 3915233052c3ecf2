"""Element types: their width, and the name that each system has for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from layoutc.deferred import Deferred
from layoutc.errors import LayoutcError
from layoutc.float_format import FloatFormat, Specials

if TYPE_CHECKING:
    import numpy as np
else:
    np = Deferred("numpy")


@dataclass(frozen=True, slots=True)
class ElementType:
    """
    The type of one element.

    `bits` is its width in memory; the rest are the names that the systems give it, `None` where a
    system has no such type. Types under 8 bits are packed, the first element in the low bits.
    """

    name: str
    bits: int
    numpy_name: str
    mlir: str
    onednn: str | None
    openvino: str | None
    inference_engine: str | None
    directml: str | None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<layoutc.ElementType {self}>"

    @property
    def float_format(self) -> FloatFormat | None:
        """The format of a floating-point type, None for integers and booleans."""
        return FLOAT_FORMATS.get(self.name)

    @property
    def is_integer(self) -> bool:
        """Whether the values are integers; those of `boolean` are 0 and 1."""
        return self.name not in FLOAT_FORMATS

    @property
    def integer_range(self) -> range:
        """The values of an integer type."""
        if not self.is_integer:
            raise LayoutcError(f"element type {self} is no integer type")
        if self.name == "boolean":
            return range(2)
        high = 1 << (self.bits - 1 if self.name[0] == "s" else self.bits)
        return range(-high if self.name[0] == "s" else 0, high)

    def size_bytes(self, elements: int) -> int:
        """Bytes that hold `elements` packed elements, rounded up to whole bytes."""
        return (elements * self.bits + 7) // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of one element; ml_dtypes has those that NumPy lacks."""
        import numpy as np

        if hasattr(np, self.numpy_name):
            return np.dtype(getattr(np, self.numpy_name))
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, self.numpy_name))


class Named(Protocol):
    """A dtype of NumPy, and what else calls itself as one."""

    @property
    def name(self) -> str: ...


TypeName = str | ElementType | Named | type[Any]
"""what names an element type"""

FLOAT_FORMATS = {
    "f64": FloatFormat(11, 52, 1023),
    "f32": FloatFormat(8, 23, 127),
    "f16": FloatFormat(5, 10, 15),
    "bf16": FloatFormat(8, 7, 127),
    "f8_e4m3": FloatFormat(4, 3, 7, Specials.LAST_IS_NAN),
    "f8_e5m2": FloatFormat(5, 2, 15),
    "e8m0": FloatFormat(8, 0, 127, Specials.LAST_IS_NAN, is_signed=False),
    "f4_e2m1": FloatFormat(2, 1, 1, Specials.NONE),
}
"""IEEE 754 for f64, f32 and f16; the leading half of f32 for bf16; OCP's FP8 and MX specifications for the rest"""

# name, bits, NumPy or ml_dtypes, MLIR, oneDNN, OpenVINO, Inference Engine, DirectML
ELEMENT_TYPES = tuple(
    ElementType(*row)
    for row in (
        ("f64", 64, "float64", "f64", "f64", "f64", "FP64", "FLOAT64"),
        ("f32", 32, "float32", "f32", "f32", "f32", "FP32", "FLOAT32"),
        ("f16", 16, "float16", "f16", "f16", "f16", "FP16", "FLOAT16"),
        ("bf16", 16, "bfloat16", "bf16", "bf16", "bf16", "BF16", None),
        ("f8_e4m3", 8, "float8_e4m3fn", "f8E4M3FN", "f8_e4m3", "f8e4m3", None, None),
        ("f8_e5m2", 8, "float8_e5m2", "f8E5M2", "f8_e5m2", "f8e5m2", None, None),
        ("e8m0", 8, "float8_e8m0fnu", "f8E8M0FNU", "e8m0", "f8e8m0", None, None),
        ("f4_e2m1", 4, "float4_e2m1fn", "f4E2M1FN", "f4_e2m1", "f4e2m1", None, None),
        ("s64", 64, "int64", "i64", "s64", "i64", "I64", "INT64"),
        ("s32", 32, "int32", "i32", "s32", "i32", "I32", "INT32"),
        ("s16", 16, "int16", "i16", None, "i16", "I16", "INT16"),
        ("s8", 8, "int8", "i8", "s8", "i8", "I8", "INT8"),
        ("s4", 4, "int4", "i4", "s4", "i4", "I4", "INT4"),
        ("u64", 64, "uint64", "ui64", None, "u64", "U64", "UINT64"),
        ("u32", 32, "uint32", "ui32", None, "u32", "U32", "UINT32"),
        ("u16", 16, "uint16", "ui16", None, "u16", "U16", "UINT16"),
        ("u8", 8, "uint8", "ui8", "u8", "u8", "U8", "UINT8"),
        ("u4", 4, "uint4", "ui4", "u4", "u4", "U4", "UINT4"),
        ("u2", 2, "uint2", "ui2", None, "u2", None, None),
        ("boolean", 8, "bool_", "i1", "boolean", "boolean", "BOOL", None),
    )
)


_FIXED_WIDTHS = {f"{sign}int{bits}t": f"{sign or 's'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
C_WORDS = _FIXED_WIDTHS | {
    "float": "f32",
    "single": "f32",
    "double": "f64",
    "half": "f16",
    "int": "s32",
    "short": "s16",
    "char": "s8",
    "e4m3": "f8_e4m3",
    "e5m2": "f8_e5m2",
    "e2m1": "f4_e2m1",
    "fp8": "f8_e4m3",
    "fp4": "f4_e2m1",
}
"""words for types that no system here has, or that NumPy and Python use for others, as letters alone"""


@cache
def _by_name() -> dict[str, ElementType]:
    """Every system's names; layoutc's own win where two systems disagree."""
    names: dict[str, ElementType] = {}
    for t in ELEMENT_TYPES:
        others = (t.mlir, t.onednn, t.openvino, t.inference_engine, t.directml)
        for name in (t.name, t.numpy_name, t.numpy_name.rstrip("_"), *others):
            if name is not None:
                names.setdefault(name, t)
        if t.mlir.startswith("i") and t.name != "boolean":
            names.setdefault(f"s{t.mlir}", t)  # MLIR's signed integers, beside its signless ones
    return names


def element_type(name: TypeName) -> ElementType:
    """
    The element type of that name, in layoutc's words (`f32`, `s8`) or any system's (`FP32`, `int8`, `si8`).

    NumPy's types are names too, as a scalar type (`np.float32`) or a dtype in this machine's byte order, and so are
    torch's (`torch.bfloat16`).
    Raises LayoutcError, naming the known types, for anything else.
    """
    if isinstance(name, ElementType):
        return name
    text = name if isinstance(name, str) else _numpy_name(name)
    found = _by_name().get(text)
    if found is None:
        known = " ".join(t.name for t in ELEMENT_TYPES)
        meant = _meant(name) if isinstance(name, str) else None
        raise LayoutcError(
            f"unknown element type {text[:40]!r}, expected one of {known}"
            + (f"; did you mean {meant}" if meant else "")
        )
    return found


def _meant(text: str) -> str | None:
    """The name of the type that a text means which is none: in another case, with other signs, or a word of C."""
    plain = {_letters(name): t.name for name, t in reversed(_by_name().items())} | C_WORDS
    return plain.get(_letters(text))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _numpy_name(type: object) -> str:
    """What a dtype or a scalar type calls itself; any other object as text, `torch.float32` without its module."""
    if getattr(type, "isnative", True) is False:
        raise LayoutcError(f"element type {type} is not in this machine's byte order")
    name = getattr(type, "name", None) or getattr(type, "__name__", None)
    return name if isinstance(name, str) else str(type).removeprefix(f"{type.__class__.__module__}.")


def check_whole_bytes(element: ElementType) -> None:
    """Raises LayoutcError for an element that does not fill whole bytes: no executor reads packed ones yet."""
    if element.bits < 8:
        raise LayoutcError(f"element type {element} is packed below a byte: not supported yet")
