"""
What stands above code with vectors: their types, and how they come from memory and go there.

Loads and stores are macros, because gcc warns of a function that is given or returns a vector wider than the
registers, even where it is inlined.
"""

from __future__ import annotations

import re

from layoutc.targets.helpers.c_byte_tables import BYTE_OF
from layoutc.targets.helpers.c_lane_helpers import OPERATIONS, lane_helpers
from layoutc.targets.helpers.c_number_helpers import NUMBER_AS
from layoutc.targets.helpers.c_packed import PART
from layoutc.targets.helpers.c_resize_helpers import RESIZED
from layoutc.targets.helpers.c_saturated import NAME as SATURATED
from layoutc.targets.helpers.c_word_tables import WORD_OF
from layoutc.targets.patterns.c_float_numbers import NUMBER_OF_F4, NUMBER_OF_F8
from layoutc.targets.patterns.narrow_parts import NAME as NARROWED
from layoutc.targets.patterns.wide_parts import NAME, UNPACKED
from layoutc.targets.words.c_text import MAX_WIDTH, words, wrapped
from layoutc.targets.words.c_vector_types import MODES, NATIVE_LANES, VECTOR_TYPE, VectorType, typedef

RESERVED_NAME = (
    rf"((load|store|stream|broadcast)_((first|some|once|within)_)?)?{VECTOR_TYPE}(_unaligned)?$|(stream|bytes|shuffle)_\d+$"
    rf"|cover_(bytes|pairs)$|low_bytes(_of_(one|two|pair|half))?(_signed)?$|{NAME}$|({'|'.join(OPERATIONS)})_{VECTOR_TYPE}$|{RESIZED}$|{NUMBER_AS}$"
    rf"|{UNPACKED}$|{NARROWED}$|{NUMBER_OF_F8}$|{NUMBER_OF_F4}$|{BYTE_OF}$|{WORD_OF}$|{SATURATED}$|{PART}$"
    rf"|(all|rounded_\w+)_{VECTOR_TYPE}$|\w+_{VECTOR_TYPE}_table$"
)
"""a regular expression for the names that are, or might be, defined here"""

STREAMED = {16: ("__SSE2__", "movntdq"), 32: ("__AVX__", "movntdq256"), 64: ("__AVX512F__", "movntdq512")}
"""vector bytes, the macro of processors that have such registers, gcc's name for their non-temporal store"""

LOADED_ONCE_BYTES = 64
"""of the registers that gcc loads anew at each use of their lanes, where it has too few for all values"""

MASKED_BYTES = (16, 32, 64)
"""
of the vectors whose first lanes are moved by themselves, the narrowest that has them all; copied to the stack, they
would be waited for
"""
PARTS = (4, 8)
"""bytes of the vectors that are moved as the first lanes of one of 16 bytes, whose parts are as large"""
HALVES = "#if defined(__AVX512VL__)"
"""where first lanes are moved as those of half a vector"""
EXTRACTED_BITS = 32
"""
of the lanes from which on one instruction takes a part of a register and stores some of its lanes: gcc makes use of it,
but where the others may not be stored it faults
"""
MASKED = {8: "BW", 16: "BW", 32: "F", 64: "F"}
"""lane bits, and the part of AVX-512 with masked moves of them"""


def vector_prelude(mentioned: set[str]) -> list[str]:
    """The paragraphs that code with these words needs above it: only what it uses, in a fixed order."""
    named = _named(mentioned)
    halves = _of_halves(named)
    helpers = lane_helpers(named)
    used = named | halves | _named(words("\n".join(helpers)))
    types = sorted({VectorType.named(name.split("_")[-1]) for name in used})
    streamed = [type for type in types if f"stream_{type}" in used]
    definitions = [_definition(type, used, halves) for type in types]
    sizes = sorted({type.bytes for type in streamed})
    return [*definitions, *(_stream_of_size(size) for size in sizes), *map(_stream, streamed), *helpers]


def _named(mentioned: set[str]) -> set[str]:
    """The types, and what is named after one."""
    return set(filter(re.compile(rf"\w*{VECTOR_TYPE}").fullmatch, mentioned))


def _of_halves(named: set[str]) -> set[str]:
    """What moves the first lanes of half a vector for what moves those of a whole one, unless it is named too."""
    found = set[str]()
    for name in named:
        verb, _, moved = name.partition("_first_")
        type = VectorType.named(moved) if moved else None
        while type is not None and (type := _half(type)) is not None:
            found.add(f"{verb}_first_{type}")
    return found - named


def _half(type: VectorType) -> VectorType | None:
    """Of one that is moved as half if that has all lanes."""
    is_halved = type.bytes in MASKED_BYTES[1:]
    return VectorType(type.kind, type.bits, type.lanes // 2) if is_halved else None


def _definition(type: VectorType, used: set[str], halves: set[str]) -> str:
    """A type, and the ways between it and memory that are used; streaming may store too, and others move `halves`."""
    lines = [f"typedef {type.lane} {type} __attribute__((vector_size({type.bytes})));"]
    once, within = f"load_once_{type}" in used, f"load_within_{type}" in used
    loads, stores = once or within or f"load_{type}" in used, {f"store_{type}", f"stream_{type}"} & used
    if loads or stores:
        attributes = f"vector_size({type.bytes}), aligned({type.bits // 8}), may_alias"
        lines.append(f"typedef {type.lane} {type}_unaligned __attribute__(({attributes}));")
    if loads:
        lines.append(f"#define load_{type}(from) (*(const {type}_unaligned *)(from))")
    if once:
        lines += _load_once(type)
    if within:
        lines += _load_within(type)
    if stores:
        lines.append(f"#define store_{type}(to, value) (*({type}_unaligned *)(to) = (value))")
    if f"broadcast_{type}" in used:
        lines += _broadcast(type)
    masked = {name: text for name, text in _masked(type).items() if name in used}
    functions = [f"{HALVES}\n{text}\n#endif" if name in halves else text for name, text in masked.items()]
    return "\n\n".join(("\n".join(lines), *functions))


def _load_once(type: VectorType) -> list[str]:
    """A load of lanes that stay in their register: most of such loads span two cache lines."""
    return [
        "#if defined(__AVX512F__) && !defined(__clang__)",
        f"#define load_once_{type}(from) \\",
        f'  __extension__ ({{ {type} lanes_ = load_{type}(from); __asm__("" : "+v"(lanes_)); lanes_; }})',
        "#else",
        f"#define load_once_{type}(from) load_{type}(from)",
        "#endif",
    ]


def _load_within(type: VectorType) -> list[str]:
    """A load of all lanes, of which those that a mask leaves out become zero."""
    kept = ", ".join(f"-(int)((mask) >> {lane} & 1)" for lane in range(type.lanes))
    lines = [
        f"#define load_within_{type}(from, mask)",
        "  __extension__ ({",
        f"    {typedef('lanes_', type.bits, type.bytes)};",
        *wrapped(f"    const lanes_ kept_ = {{{kept}}};", MAX_WIDTH - 2),
        f"    ({type})((lanes_)load_{type}(from) & kept_);",
        "  })",
    ]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _broadcast(type: VectorType) -> list[str]:
    lanes = wrapped(f"  (({type}){{{', '.join(['(x)'] * type.lanes)}}})", MAX_WIDTH - 2)
    lines = [f"#define broadcast_{type}(x)", *lanes]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _masked(type: VectorType) -> dict[str, str]:
    """Moves of the first lanes only, or of some: masked where the processor has that for such vectors, else copied."""
    parameters = f"{type} *lanes, const {type.lane} *from", f"{type.lane} *to, const {type} *lanes"
    moves = _masked_moves(type) if type.bytes in MASKED_BYTES or type.bytes in PARTS else ("", "")
    found: dict[str, str] = {}
    for verb, given, move in zip(("load", "store"), parameters, moves, strict=True):
        to, from_ = ("lanes", "from") if verb == "load" else ("to", "lanes")
        first = f"  memcpy({to}, {from_}, (size_t)count * sizeof({type.lane}));"
        places = ("(*lanes)[lane]", "from[lane]") if verb == "load" else ("to[lane]", "(*lanes)[lane]")
        some = f"""  for (int lane = 0; lane < {type.lanes}; lane++)
    if (mask >> lane & 1)
      {places[0]} = {places[1]};"""
        if move:
            made = "const uint64_t mask = count > 0 ? UINT64_MAX >> (64 - count) : 0;\n  "
            first, some = _masked_or(type, made + move, first), _masked_or(type, move, some)
        if (half := _half(type)) is not None:
            first = f"{_as_half(type, half, verb)}\n{first}"
        for which, lanes, body in (("first", "int64_t count", first), ("some", "uint64_t mask", some)):
            name = f"{verb}_{which}_{type}"
            found[name] = f"static inline void {name}({given}, {lanes}) {{\n{body}\n}}"
    return found


def _as_half(type: VectorType, half: VectorType, verb: str) -> str:
    """The move of few lanes as those of half a vector: it takes less time the narrower its registers are."""
    words = [str(lane) for lane in range(type.bytes // 8)]
    first, rest = (", ".join(part) for part in (words[: half.bytes // 8], words[half.bytes // 8 :]))
    taken = "__builtin_shufflevector((words)*lanes, (words)*lanes, {})"
    if verb == "load":
        types = [typedef("words", 64, type.bytes), typedef("halves", 64, half.bytes)]
        moves = [
            f"const halves high = {taken.format(rest)}",
            f"load_first_{half}(&low, from, count)",
            f"*lanes = ({type})__builtin_shufflevector((halves)low, high, {', '.join(words)})",
        ]
    else:
        types, moves = [typedef("words", 64, type.bytes)], [f"store_first_{half}(to, &low, count)"]
    lines = ";\n    ".join((*types, f"{half} low = ({half}){taken.format(first)}", *moves, "return"))
    return f"""{HALVES}
  if (__builtin_constant_p(count) && count <= {half.lanes}) {{
    {lines};
  }}
#endif"""


def _masked_moves(type: VectorType) -> tuple[str, str]:
    """The load and the store, as gcc and clang both call them."""
    moved = _masked_bytes(type)
    suffix = f"{MODES[type.bits]}{8 * moved}_mask"
    mask = f"(uint{max(8, 8 * moved // type.bits)}_t)mask"
    load, store = (
        f"__builtin_ia32_loaddqu{suffix}((const void *)from, ",
        f"__builtin_ia32_storedqu{suffix}((void *)to, ",
    )
    if type.bytes == moved and moved < MASKED_BYTES[-1] and type.bits >= EXTRACTED_BITS:
        held = f'native held = (native)*lanes;\n  __asm__("" : "+v"(held));\n  {store}held, {mask});'
        return f"*lanes = ({type}){load}(native)*lanes, {mask});", held
    if type.bytes == moved:
        return f"*lanes = ({type}){load}(native)*lanes, {mask});", f"{store}(native)*lanes, {mask});"
    part = f"{typedef('parts', 8 * type.bytes, moved)};\n  "
    held = f"(native)(parts){{({NATIVE_LANES[8 * type.bytes]})*lanes}}, {mask})"
    return f"{part}*lanes = ({type})((parts){load}{held})[0];", f"{part}{store}{held};"


def _masked_bytes(type: VectorType) -> int:
    """Of the vector that is moved for one; there is none of less than 16."""
    return max(type.bytes, MASKED_BYTES[0])


def _masked_or(type: VectorType, move: str, copy: str) -> str:
    moved = _masked_bytes(type)
    narrow = " && defined(__AVX512VL__)" if moved < 64 else ""
    return f"""#if defined(__AVX512{MASKED[type.bits]}__){narrow}
  {typedef("native", type.bits, moved)};
  {move}
#else
{copy}
#endif"""


def _stream_of_size(size: int) -> str:
    """The non-temporal store of aligned vectors of so many bytes, as each compiler calls it."""
    macro, builtin = STREAMED[size]
    return f"""// Past the caches, where compiler and processor can: what is stored is not read again soon.
typedef long long bytes_{size} __attribute__((vector_size({size}), may_alias));
#if defined(__clang__)
#define stream_{size}(to, value) __builtin_nontemporal_store(value, to)
#elif defined({macro})
#define stream_{size}(to, value) __builtin_ia32_{builtin}(to, value)
#else
#define stream_{size}(to, value) (void)(*(to) = (value))
#endif"""


def _stream(type: VectorType) -> str:
    """Non-temporal stores need an aligned address; others are stored as ever."""
    cast = f"(bytes_{type.bytes} *)(to), (bytes_{type.bytes})(value)"
    return f"""#define stream_{type}(to, value, aligned) \\
  ((aligned) ? stream_{type.bytes}({cast}) : (void)store_{type}(to, value))"""
