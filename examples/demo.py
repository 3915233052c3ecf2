"""The main job from end to end: two layouts, their offset maps, a loop nest, C, and executors that agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import layoutc
from layoutc.affine_text import offset_text
from layoutc.descriptor import MemoryDesc
from layoutc.errors import CompilerError
from layoutc.kernel_options import Executor
from layoutc.tools.memory_order import place_text, places

DIMS = (2, 17, 5, 4)
EXECUTORS: tuple[Executor, ...] = ("reference", "interpret", "c")


def title(text: str) -> None:
    print(f"\n--- {text}\n")


def show_layout(notation: str) -> MemoryDesc:
    """Print one layout's offset map, sizes and first places in memory."""
    desc = layoutc.desc(notation, DIMS, "f32")
    title(f"layout {notation} of a {'x'.join(map(str, DIMS))} tensor of f32")
    print(f"offset         {offset_text(desc)}")
    print(f"physical shape {desc.physical_shape}, {desc.size_bytes} bytes")
    for place in places(desc, 3):
        print(place_text(desc, place))
    return desc


def run(executor: Executor, src: MemoryDesc, dst: MemoryDesc, tensor: NDArray[np.float32]) -> bytes | None:
    """The bytes that an executor writes over a poisoned buffer; None where there is no C compiler."""
    result = np.full(dst.size_bytes, 0xAA, np.uint8)
    try:
        layoutc.compile(src, dst, executor=executor)(tensor, result)
    except CompilerError as error:
        print(f"{executor:<10} left out: {error}")
        return None
    print(f"{executor:<10} wrote {result.size} bytes")
    return result.tobytes()


def main() -> None:
    src = show_layout("nchw")
    dst = show_layout("nChw8c")

    title("nChw8c in other systems' words")
    for system in ("openvino", "onednn"):
        print(f"{system:<10} {layoutc.translate('nChw8c', to=system)}")

    kernel = layoutc.compile(src, dst, executor="reference", target="plain")
    title("the reorder as IR")
    print(kernel.ir("canonicalize"))
    title("the reorder lowered to loops")
    print(kernel.ir("lower-reorders"))
    title("the reorder as C")
    print(kernel.c_source)

    title("the reorder run by each executor")
    tensor = np.arange(np.prod(DIMS), dtype=np.float32).reshape(DIMS)
    results = [run(executor, src, dst, tensor) for executor in EXECUTORS]
    if len({result for result in results if result is not None}) != 1:
        raise SystemExit("the executors differ")
    print(f"{len(results) - results.count(None)} executors agree byte for byte")


if __name__ == "__main__":
    main()
