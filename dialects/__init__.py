"""The xDSL dialects of layoutc, imported as `layoutc.dialects`."""

if __name__ != "layoutc.dialects":
    # A second copy of every op class would make each isinstance check fail in silence.
    raise ImportError("import layoutc.dialects, not dialects")
