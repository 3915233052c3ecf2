import os.path as _p
if not _p.isdir(_p.join(__path__[0], "dialects")):
    __path__.append(_p.dirname(__path__[0]))
