// RUN: layoutc-opt -p lower-reorders %s --split-input-file --verify-diagnostics | filecheck %s

// The value form has no buffers to loop over.
// CHECK: layout.reorder on tensors has no buffers yet: bufferize it first
func.func @value_form(%t: tensor<4xf32>) -> tensor<4xf32, #layout.map<(d0) -> (d0 floordiv 8, d0 mod 8)>> {
  %r = layout.reorder %t : tensor<4xf32> to tensor<4xf32, #layout.map<(d0) -> (d0 floordiv 8, d0 mod 8)>>
  func.return %r : tensor<4xf32, #layout.map<(d0) -> (d0 floordiv 8, d0 mod 8)>>
}

// -----

// An op that looks into a memref with a layout would see another shape in the flat buffer.
// CHECK: memref.dim uses memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>: only loads, stores, allocations, calls and reorders of a memref with a layout can be lowered
func.func @looks_inside(%m: memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>, %i: index) -> index {
  %d = "memref.dim"(%m, %i) : (memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>, index) -> index
  func.return %d : index
}
