"""
What a file calls its own: macros and static functions, so that two files may be included in one.

Types need nothing: C has them defined twice, as long as they are the same.
"""

from __future__ import annotations

import re
from collections.abc import Container

_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"^static .*?(\w+)\(", re.MULTILINE)
_WHY = "// Names of this file alone: another one may be included behind it."


def own_functions(helpers: str, file: str, used: Container[str]) -> str:
    """
    Static functions under names that begin with that of the file; a macro leaves their short ones to its code.

    They are none of the words that are `used` in the code.
    """

    def renamed(found: re.Match[str]) -> str:
        own = f"{file}_{found[1]}"
        while own in used:
            own += "_"
        return f"#define {found[1]} {own}\n{found[0]}"

    return _FUNCTION.sub(renamed, helpers)


def forgotten(helpers: str) -> str:
    """What stands below a file to undo the macros above it."""
    names = dict.fromkeys(_MACRO.findall(helpers))
    return "\n".join((_WHY, *(f"#undef {name}" for name in names))) if names else ""
