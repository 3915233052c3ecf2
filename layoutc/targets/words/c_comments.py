"""Comments of emitted C: what the IR says for people, in the attribute `layout.comment` of any op."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from layoutc.discardable import COMMENT


def comment_lines(op: Operation) -> list[str]:
    """The op's comment, a line of C each, in letters that cannot end it or run on into the next line."""
    comment = op.attributes.get(COMMENT)
    if not isinstance(comment, StringAttr):
        return []
    return [_comment_line(line) for line in comment.data.splitlines()]


def _comment_line(line: str) -> str:
    printable = line.rstrip()
    if not (line.isascii() and line.isprintable()):
        printable = "".join(letter if " " <= letter <= "~" else "?" for letter in line).rstrip()
    # A backslash at the end would continue the comment, and ??/ is one.
    while printable.endswith(("\\", "??/")):
        printable = printable.removesuffix("??/").rstrip("\\ ")
    return f"// {printable}".rstrip()
