"""The C header of a kernel: its prototype and the bytes that its buffers must have."""

from __future__ import annotations

import re

from layoutc.conversion import NO_ATTRIBUTES
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.targets.c_header import declaration, framed

SIZES = """\
/* source:      {source}
 * destination: {destination}{conversion}
 * The buffers must not overlap.{sums} */
#define {name}_SRC_BYTES {source_bytes}
#define {name}_DST_BYTES {destination_bytes}{arguments}"""


def header(kernel: Kernel) -> str:
    """A header for C and C++, with an include guard."""
    source, destination, sums = kernel.source, kernel.destination, kernel.conversion.compensation
    sizes = {name: param.size_bytes(source.dims) for name, param in kernel.conversion.arguments.items()}
    starts = dict(zip(sums.names, sums.offsets_bytes(destination), strict=False)) if sums else {}
    sizes_text = SIZES.format(
        name=kernel.name.upper(),
        source=source,
        destination=destination,
        conversion=f"\n * conversion:  {kernel.conversion}" if kernel.conversion != NO_ATTRIBUTES else "",
        source_bytes=kernel.source_bytes,
        destination_bytes=kernel.destination_bytes,
        arguments="".join(
            f"\n#define {kernel.name.upper()}_{name.upper()}_{unit} {value}"
            for unit, values in (("BYTES", sizes), ("OFFSET_BYTES", starts))
            for name, value in values.items()
        ),
        sums=f"\n * The sums, {' and '.join(starts)}, lie in the destination at these offsets." if starts else "",
    )
    return framed(kernel.name, sizes_text, [prototype(kernel.c_source, kernel.name)])


def prototype(c_source: str, name: str) -> str:
    """The declaration of a function that the C text defines."""
    found = re.search(rf"^(void {re.escape(name)}\([^{{]*\)) \{{$", c_source, re.MULTILINE)
    if found is None:
        raise LayoutcError(f"the C text has no function {name}")
    return declaration(found[1])
