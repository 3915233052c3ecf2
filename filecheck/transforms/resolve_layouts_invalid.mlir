// RUN: not layoutc-opt %s -p resolve-layouts 2>&1 | filecheck %s

// The pass names the op and the type; here the tag is in somebody's attribute, and verified by nobody else.
// CHECK: {{^}}layoutc-opt: error: function 'misfit': func.func: memref<2x17xf32, #layout.tag<"nchw">>: dims (2, 17) have rank 2, layout (n, c, h, w) -> (n, c, h, w) has rank 4
func.func @misfit() attributes {type = memref<2x17xf32, #layout.tag<"nchw">>} {
  func.return
}
