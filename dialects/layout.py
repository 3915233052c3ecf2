"""
The dialect `layout`: memory layouts as memref layouts and tensor encodings, and the reorder between two of them.

```mlir
memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
memref<2x17x5x4xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d1 floordiv 8, d2, d3, d1 mod 8)>>
layout.reorder %src into %dst : memref<2x17x5x4xf32> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
layout.reorder %src into %dst with (dst_scale = 0.02, dst_zero_point = 3) : memref<64xf32> into memref<64xi8>
%r = layout.reorder %t : tensor<2x17x5x4xf32> to tensor<2x17x5x4xf32, #layout.tag<"nChw8c">>
```
"""

from xdsl.ir import Dialect

from layoutc.dialects.attributes import MapAttr, TagAttr
from layoutc.dialects.conversion_attr import ConversionAttr
from layoutc.dialects.ops import ReorderOp

Layout = Dialect("layout", [ReorderOp], [TagAttr, MapAttr, ConversionAttr])
