"""Names: from SSA name hints to C identifiers that are free where they are declared."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from layoutc.targets.helpers.c_helpers import HELPERS
from layoutc.targets.helpers.c_vector_helpers import RESERVED_NAME
from layoutc.targets.words.c_joined import DEFINITIONS as JOINS


def _words(text: str) -> list[str]:
    return text.split()


KEYWORDS = _words("""
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local
    asm typeof alignas alignof bool complex constexpr false imaginary noreturn nullptr static_assert thread_local
    true typeof_unqual
""")
"""C11, GNU and C23; and C++, so far as a parameter's name may stand in a header"""

CPLUSPLUS = _words("""
    and and_eq bitand bitor catch class compl concept const_cast delete dynamic_cast explicit export friend mutable
    namespace new not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast
    template this throw try typeid typename using virtual wchar_t xor xor_eq
""")

MACROS = _words("""
    NULL offsetof assert errno stdin stdout stderr EOF INFINITY NAN EXIT_SUCCESS EXIT_FAILURE RAND_MAX
    linux unix i386 sun mips arm hpux vax sgi I
""")
"""of the headers that may be included, and what gcc predefines in its gnu modes"""

TYPES_AND_CALLS = (
    [f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + _words("size_t ptrdiff_t intptr_t uintptr_t intmax_t uintmax_t wchar_t max_align_t")
    + _words("malloc free abort aligned_alloc memcpy memset")
)

_LINES = Path(__file__).with_name("c_library.txt").read_text(encoding="ascii").splitlines()
LIBRARY = frozenset(_words(" ".join(line for line in _LINES if not line.startswith("#"))))
"""
what the C library has: a definition under such a name takes its place in the whole program, or is a warning, or never
called
"""

IN_MACRO = "_in"
"""what the names of variables end in that are in macros made of functions; those in helpers end in `_`"""

RESERVED = frozenset((*KEYWORDS, *CPLUSPLUS, *MACROS, *TYPES_AND_CALLS, *HELPERS, *JOINS))


@lru_cache(maxsize=4096)
def is_identifier(name: str) -> bool:
    """Whether this text can stand in C as the name of something of the user's."""
    return (
        re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
        and re.match(rf"_[A-Z_]|U?INT\w*_(MIN|MAX|C)$|SIZE_MAX$|{RESERVED_NAME}", name) is None
        and name not in RESERVED
    )


class Names:
    """
    The identifiers that are taken, scope by scope.

    A name never hides one of an enclosing scope; scopes that do not enclose each other may use the same.
    """

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._scope: set[str] = set()
        """those of the innermost scope"""
        self._numbers: dict[str, int] = {}
        """the number from which on a name with one may be free"""

    @contextmanager
    def scope(self) -> Generator[None, None, None]:
        outside = self._scope, self._numbers
        self._scope, self._numbers = set(), dict(self._numbers)
        yield
        self._taken -= self._scope
        self._scope, self._numbers = outside

    def take(self, names: Iterable[str]) -> None:
        """Names that the innermost scope has already."""
        for name in names:
            self._take(name)

    def _take(self, name: str) -> None:
        if name not in self._taken:
            self._taken.add(name)
            self._scope.add(name)

    def _is_free(self, name: str) -> bool:
        return name not in self._taken and is_identifier(name)

    def fresh(self, hint: str | None, *defaults: str) -> str:
        """The hint, or the first default that is free, with a number behind it where it is taken."""
        base = _base(hint) if hint else ""
        if base in self._numbers:  # A hint that has a number by now is taken.
            return self._numbered(base)
        candidates = (base,) if base else defaults
        free = next(filter(self._is_free, candidates), None)
        if free is None:
            return self._numbered(candidates[0])
        self._numbers.setdefault(candidates[0], 2)
        self._take(free)
        return free

    def _numbered(self, base: str) -> str:
        """The name with the least number behind it that is free; `less_2` is a macro, and no name has such a number."""
        number = self._numbers.get(base, 2)
        before = f"{base}_" if is_identifier(f"{base}_{number}") else base
        while not self._is_free(free := f"{before}{number}"):
            number += 1
        self._numbers[base] = number + 1
        self._taken.add(free)
        self._scope.add(free)
        return free


@lru_cache(maxsize=4096)
def _base(hint: str) -> str:
    """
    A hint in C's letters. Printed IR numbers equal hints `_1`, `_2`, and parsing drops that: so does this.

    It never ends as the variables in macros do, which would hide a variable of that name from what they are given.
    """
    text = re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"(_\d+)+$", "", hint))
    return re.sub(rf"^_+(?=[A-Z_]|$)|(_|{IN_MACRO})+$", "", text)
