"""
OpenVINO's GPU formats: `bfyx`, `b_fs_yx_fsv16`, `os_is_yx_osa4_isa8_osv8_isv4_swizzled_by_4`, `gs_oi_yxs_gsv4_yxsv4`.

Every name that a measured release has means what it is in that release's memory; other names are read by the
grammar. `is_os_yx_osv16_isv16@2020.3` asks for one release; without, the last release that has the name counts.
Dims of a lower rank than the format's are padded with trailing ones.

`FormatDesc` is a tensor as OpenVINO describes it, with the sizes and offsets that OpenVINO computes of it.
"""

from layoutc.notations.openvino_compatible import compatible
from layoutc.notations.openvino_formats import NEWEST, RELEASES
from layoutc.notations.openvino_names import (
    describe,
    format,
    format_desc,
    format_names,
    parse,
    read,
    refused_formats,
)
from layoutc.notations.openvino_sizes import FormatDesc
from layoutc.notations.openvino_traits import Traits, default_format, find_format, to_weights_format, traits

NAME = "openvino"

__all__ = [
    "NAME",
    "NEWEST",
    "RELEASES",
    "FormatDesc",
    "Traits",
    "compatible",
    "default_format",
    "describe",
    "find_format",
    "format",
    "format_desc",
    "format_names",
    "parse",
    "read",
    "refused_formats",
    "to_weights_format",
    "traits",
]
