// RUN: layoutc-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// A caret stands under the letter that is wrong, and the near match is named.
// CHECK: invalid.mlir:6:67
// CHECK: a block names its axis in lower case, expected 'c'; did you mean nChw16c
func.func @unknown_letter(%m: memref<2x17xf32, #layout.tag<"nChw16C">>) { func.return }

// -----

// A map whose results do not make up each axis is refused.
// CHECK: invalid.mlir:13:56
// CHECK: digits of axis d1 do not nest: got divisor 8, expected 1
func.func @not_digits(%m: memref<2x17xf32, #layout.map<(d0, d1) -> (d0, d1 floordiv 8)>>) { func.return }

// -----

// An option that does not exist: the known ones are listed.
// CHECK: invalid.mlir:20:62
// CHECK: Expected one of 'align', 'high', 'low', 'offset', 'strides': an option of a layout
func.func @bad_option(%m: memref<2x17xf32, #layout.tag<"ab", pad = [1, 2]>>) { func.return }

// -----

// An option is given once.
// CHECK: invalid.mlir:27:69
// CHECK: option offset is given twice
func.func @twice(%m: memref<2x17xf32, #layout.tag<"ab", offset = 1, offset = 2>>) { func.return }

// -----

// A layout must have the rank of its shape; the caret marks the type.
// CHECK: invalid.mlir:35:52
// CHECK: dims (2, 3) have rank 2, layout (a, b, c) -> (a, b, c) has rank 3
func.func @rank(%a: memref<2x3xf32>, %b: memref<2x3xf32, #layout.tag<"abc">>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xf32, #layout.tag<"abc">>
}

// -----

// Both sides hold the same dims.
// CHECK: invalid.mlir:44:52
// CHECK: source dims (2, 3) differ from destination dims (2, 4)
func.func @shape(%a: memref<2x3xf32>, %b: memref<2x4xf32>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x4xf32>
}

// -----

// Elements of both sides are of types that layoutc knows.
// CHECK: invalid.mlir:53:52
// CHECK: unknown element type 'tf32', expected one of f64 f32 f16
func.func @types(%a: memref<2x3xf32>, %b: memref<2x3xtf32>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xtf32>
}

// -----

// A destination holds every element once; a source may broadcast.
// CHECK: invalid.mlir:62:52
// CHECK: destination strides (1, 1) put two positions of shape (2, 3) at one offset
func.func @overlap(%a: memref<2x3xf32>, %b: memref<2x3xf32, #layout.tag<"ab", strides = [1, 1]>>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xf32, #layout.tag<"ab", strides = [1, 1]>>
}

// -----

// Source and destination are two buffers.
// CHECK: invalid.mlir:71:18
// CHECK: layout.reorder from a memref into itself: source and destination must not overlap
func.func @itself(%a: memref<2x3xf32>) {
  layout.reorder %a into %a : memref<2x3xf32> into memref<2x3xf32>
  func.return
}

// -----

// One name per axis.
// CHECK: invalid.mlir:81:18
// CHECK: got 1 axis names, expected 2
func.func @names(%a: memref<2x3xf32>, %b: memref<2x3xf32>) {
  layout.reorder %a into %b axes ["n"] : memref<2x3xf32> into memref<2x3xf32>
  func.return
}

// -----

// Memrefs go into memrefs, tensors become tensors.
// CHECK: invalid.mlir:91:23
// CHECK: layout.reorder mixes memrefs and tensors, expected memref `into` memref, or tensor `to` tensor
func.func @mixed(%a: memref<2x3xf32>) {
  %r = layout.reorder %a : memref<2x3xf32> to tensor<2x3xf32>
  func.return
}

// -----

// A dynamic shape has no offset map yet.
// CHECK: invalid.mlir:101:31
// CHECK: memref<?x3xf32> has a dynamic dimension, expected a static shape
func.func @dynamic(%a: memref<?x3xf32>, %b: memref<?x3xf32>) {
  layout.reorder %a into %b : memref<?x3xf32> into memref<?x3xf32>
}

// -----

// The coefficient of a flattened axis is the extent of the next one.
// CHECK: invalid.mlir:110:54
// CHECK: axis d2 has 5 coordinates, the text implies 4
func.func @flat_extent(%a: memref<2x3x5xf32>, %b: memref<2x3x5xf32, #layout.map<(d0, d1, d2) -> (d0, (d1 * 4 + d2) floordiv 4, (d1 * 4 + d2) mod 4)>>) {
  layout.reorder %a into %b : memref<2x3x5xf32> into memref<2x3x5xf32, #layout.map<(d0, d1, d2) -> (d0, (d1 * 4 + d2) floordiv 4, (d1 * 4 + d2) mod 4)>>
}

// -----

// The generic form is verified too; it has no place in the text to point at.
// CHECK: source dims (2, 3) differ from destination dims (2, 4)
func.func @generic(%a: memref<2x3xf32>, %b: memref<2x4xf32>) {
  "layout.reorder"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<2x3xf32>, memref<2x4xf32>) -> ()
  func.return
}

// -----

// The carets stand under the type alone, on its own line, whatever follows it.
// CHECK: invalid.mlir:130:52
// CHECK-NEXT:   layout.reorder %a into %b : memref<2x3xf32> into memref<2x4xf32>  // a comment
// CHECK-NEXT: {{^ +\^+$}}
// CHECK-NEXT: {{^ +}}source dims (2, 3) differ from destination dims (2, 4)
func.func @carets(%a: memref<2x3xf32>, %b: memref<2x4xf32>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x4xf32>  // a comment

  func.return
}

// -----

// What the affine parser cannot read is an error where the map begins.
// CHECK: invalid.mlir:140:53
// CHECK: a product or quotient of axes is not affine
func.func @product(%m: memref<2x17xf32, #layout.map<(d0, d1) -> (d0 * d1)>>) { func.return }

// -----

// A prefix that names no notation is said to be one.
// CHECK: invalid.mlir:147:55
// CHECK: unknown notation 'zzz', expected one of onednn openvino
func.func @notation(%m: memref<2x17xf32, #layout.tag<"zzz:ab">>) { func.return }

// -----

// A layout that does not fit its type is found without any pass.
// CHECK: func.func: memref<2x17xf32, #layout.tag<"nchw">>: dims (2, 17) have rank 2, layout (n, c, h, w) -> (n, c, h, w) has rank 4
func.func @misfit(%m: memref<2x17xf32, #layout.tag<"nchw">>) { func.return }

// -----

// A word that no plan has is an error at its place.
// CHECK: "threads 1", "move 0 -> 0"
// CHECK-NEXT: {{^}}                                                 ^
// CHECK-NEXT: expected 'copy', 'fill', 'together' or 'through a buffer', got 'move'
func.func @no_plan(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  layout.reorder %a into %b plan [  "threads 1", "move 0 -> 0"] : memref<4x4xf32> into memref<4x4xf32>
  func.return
}

// -----

// Words of a plan that do not fit each other are an error at their line.
// CHECK: "copy 0 -> 0: 16x(1, 1)
// CHECK-NEXT: {{^    \^\^\^}}
// CHECK-NEXT: lanes 0:8 are not in a tile of 4
func.func @no_such_lanes(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  layout.reorder %a into %b plan ["threads 1",
    "copy 0 -> 0: 16x(1, 1), elements of 4, vectors of 16, any shuffles, tile 4, lanes 0:8 -> 0:8, macro 16, outer 0, inner 0, normal stores"
  ] : memref<4x4xf32> into memref<4x4xf32>
  func.return
}

// -----

// A plan that is not one of its reorder is an error at the line at fault: this one leaves a column out.
// CHECK: invalid.mlir:186:5
// CHECK: got 'copy 0 -> 0: {{.*}}, elements of 4', expected 'copy 0 -> 0: 4x(1, 4) 4x(4, 1), elements of 4' for this reorder
func.func @wrong_plan(%a: memref<4x4xf32>, %b: memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %a into %b plan ["threads 1",
    "copy 0 -> 0: 4x(1, 4) 3x(4, 1), elements of 4, vectors of 16, unpack shuffles, tile 1x1, lanes - -> -, macro 1x3, outer 0 1, inner 0 1, normal stores"] : memref<4x4xf32> into memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>
}

// -----

// So is one that ends early, at its last line.
// CHECK: invalid.mlir:195:35
// CHECK: got no more copies, expected 'copy 0 -> 0: 4x(1, 4) 4x(4, 1), elements of 4' for this reorder
func.func @short_plan(%a: memref<4x4xf32>, %b: memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %a into %b plan ["threads 1"] : memref<4x4xf32> into memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>
}

// -----

// So is a plan without lines, at its brackets.
// CHECK: axes ["a", "b"] plan []
// CHECK-NEXT: {{^}}                                                   ^
// CHECK-NEXT: expected 'threads', got the end of the line
func.func @empty_plan(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  layout.reorder %a into %b axes ["a", "b"] plan [] : memref<4x4xf32> into memref<4x4xf32>
  func.return
}

// -----

// A fault that names the type does so once.
// CHECK: function 'dynamic': func.func: memref<?x6xf32, #layout.tag<"ba">> has a dynamic dimension, expected a static shape
func.func @dynamic(%a: memref<?x6xf32, #layout.tag<"ba">>) {
  func.return
}

// -----

// The word of the value form between two memrefs.
// CHECK: layout.reorder %a to %b
// CHECK-NEXT: {{^ +\^\^$}}
// CHECK-NEXT: got 'to' before the types, expected memref `into` memref, or tensor `to` tensor
func.func @to(%a: memref<2x3xf32>, %b: memref<2x3xf32>) {
  layout.reorder %a to %b : memref<2x3xf32> to memref<2x3xf32>
}
