"""The Inference Engine's precisions: values, and bits of one element."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.element_type import ELEMENT_TYPES, ElementType
from layoutc.errors import LayoutcError
from layoutc.notations.inference_engine_common import InferenceEngineError, shown, size


@dataclass(frozen=True)
class Precision:
    """
    A precision: its name, the value in the library's enum, the bits of one element (0 where it has none).

    `Precision.custom(bits, name)` is the library's CUSTOM.
    """

    name: str
    value: int
    bits: int

    @classmethod
    def of(cls, precision: Precision | ElementType | str) -> Precision:
        """The precision of a name, the library's (`FP32`) or layoutc's (`f32`). Raises LayoutcError for others."""
        if isinstance(precision, Precision):
            return precision
        name = _IE_NAMES.get(precision.name if isinstance(precision, ElementType) else str(precision)[:40])
        found = PRECISIONS.get(name or str(precision)[:40])
        if found is None:
            known = " ".join(PRECISIONS)
            raise LayoutcError(
                f"the Inference Engine has no precision {shown(str(precision))}, expected one of {known}"
            )
        return found

    @classmethod
    def custom(cls, bits: int, name: str = "CUSTOM") -> Precision:
        """A precision of one's own. Raises InferenceEngineError for 0 bits."""
        if size("bits", bits) == 0:
            raise InferenceEngineError("Precision with 0 elements size not supported")
        return cls(str(name), 80, bits)

    @property
    def size(self) -> int:
        """Bytes of one element: a whole one also for precisions of fewer bits. InferenceEngineError without bits."""
        if not self.bits:
            raise InferenceEngineError(f" cannot estimate element if precision is {self.name}")
        return (self.bits + 7) // 8

    @property
    def element_type(self) -> ElementType:
        """layoutc's element type. Raises LayoutcError for Q78, BIN and the like, which have none."""
        for element_type in ELEMENT_TYPES:
            if element_type.inference_engine == self.name and self.value != 80:
                return element_type
        raise LayoutcError(f"precision {self.name} is no element type of layoutc")


PRECISIONS = {
    name: Precision(name, value, bits)
    for name, value, bits in (
        ("UNSPECIFIED", 255, 0),
        ("MIXED", 0, 0),
        ("FP32", 10, 32),
        ("FP16", 11, 16),
        ("BF16", 12, 16),
        ("FP64", 13, 64),
        ("Q78", 20, 16),
        ("I16", 30, 16),
        ("U4", 39, 4),
        ("U8", 40, 8),
        ("BOOL", 41, 8),
        ("I4", 49, 4),
        ("I8", 50, 8),
        ("U16", 60, 16),
        ("I32", 70, 32),
        ("BIN", 71, 1),
        ("I64", 72, 64),
        ("U64", 73, 64),
        ("U32", 74, 32),
    )
}

_IE_NAMES = {element_type.name: element_type.inference_engine for element_type in ELEMENT_TYPES}
