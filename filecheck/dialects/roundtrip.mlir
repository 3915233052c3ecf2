// RUN: layoutc-opt %s | layoutc-opt | filecheck %s
// RUN: layoutc-opt %s --print-op-generic | layoutc-opt | filecheck %s

// A tag is kept as it was written.
// CHECK-LABEL: func.func @tag(
// CHECK-SAME: memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
func.func @tag(%m: memref<2x17x5x4xf32, #layout.tag<"nChw8c">>) {
  func.return
}

// A tag may name its notation.
// CHECK-LABEL: func.func @prefixed_tag(
// CHECK-SAME: memref<2x17x5x4xf32, #layout.tag<"openvino:b_fs_yx_fsv16">>
func.func @prefixed_tag(%m: memref<2x17x5x4xf32, #layout.tag<"openvino:b_fs_yx_fsv16">>) {
  func.return
}

// A map prints as MLIR prints affine maps.
// CHECK-LABEL: func.func @map(
// CHECK-SAME: memref<2x17x5x4xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d1 floordiv 8, d2, d3, d1 mod 8)>>
func.func @map(%m: memref<2x17x5x4xf32, #layout.map<(n, c, h, w) -> (n, c floordiv 8, h, w, c mod 8)>>) {
  func.return
}

// A doubly blocked axis, and one that is flattened of two: 5 is the extent of d3.
// CHECK-LABEL: func.func @nested_and_flattened(
// CHECK-SAME: #layout.map<(d0, d1) -> (d0 floordiv 16, d1, (d0 floordiv 4) mod 4, d0 mod 4)>
// CHECK-SAME: #layout.map<(d0, d1, d2, d3) -> (d0, d1, (d2 * 5 + d3) floordiv 4, (d2 * 5 + d3) mod 4)>
func.func @nested_and_flattened(
    %a: memref<33x2xf32, #layout.map<(d0, d1) -> (d0 floordiv 16, d1, (d0 floordiv 4) mod 4, d0 mod 4)>>,
    %b: memref<2x3x3x5xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d1, (d2 * 5 + d3) floordiv 4, (d2 * 5 + d3) mod 4)>>) {
  func.return
}

// Strides, base offset, border and alignment print in one order; what is absent or zero does not print.
// CHECK-LABEL: func.func @options(
// CHECK-SAME: #layout.tag<"ab", strides = [10, 1], offset = 3>
// CHECK-SAME: #layout.map<(d0, d1) -> (d0, d1), low = [0, 1], high = [0, 2], align = [1, 8]>
func.func @options(
    %a: memref<2x3xf32, #layout.tag<"ab", offset = 3, strides = [10, 1]>>,
    %b: memref<2x3xf32, #layout.map<(d0, d1) -> (d0, d1), align = [1, 8], low = [0, 1], high = [0, 2], offset = 0>>) {
  func.return
}

// Rank 0 and rank 1.
// CHECK-LABEL: func.func @small_ranks(
// CHECK-SAME: memref<f32, #layout.map<() -> ()>>
// CHECK-SAME: memref<3xi8, #layout.tag<"a">>
func.func @small_ranks(%a: memref<f32, #layout.map<() -> ()>>, %b: memref<3xi8, #layout.tag<"a">>) {
  func.return
}

// The memref form, with and without names for the axes; a plan or any other attribute stays.
// CHECK-LABEL: func.func @memref_form(
// CHECK: layout.reorder %src into %dst : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"aB8b">>
// CHECK: layout.reorder %src into %dst axes ["n", "c"] {note = "kept"} : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"aB8b">>
func.func @memref_form(%src: memref<2x17xf32>, %dst: memref<2x17xf32, #layout.tag<"aB8b">>) {
  layout.reorder %src into %dst : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"aB8b">>
  layout.reorder %src into %dst axes ["n", "c"] {note = "kept"} : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"aB8b">>
  func.return
}

// The value form: the layout is the encoding of the tensor.
// CHECK-LABEL: func.func @value_form(
// CHECK: [[R:%.*]] = layout.reorder %t : tensor<2x17xf32> to tensor<2x17xf32, #layout.tag<"aB8b">>
// CHECK: func.return [[R]] : tensor<2x17xf32, #layout.tag<"aB8b">>
func.func @value_form(%t: tensor<2x17xf32>) -> tensor<2x17xf32, #layout.tag<"aB8b">> {
  %r = layout.reorder %t : tensor<2x17xf32> to tensor<2x17xf32, #layout.tag<"aB8b">>
  func.return %r : tensor<2x17xf32, #layout.tag<"aB8b">>
}

// MLIR's own layouts are accepted where ours are: strided, and affine_map.
// CHECK-LABEL: func.func @builtin_layouts(
// CHECK: layout.reorder %a into %b : memref<2x3xf32, strided<[5, 1], offset: 2>> into memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>>
func.func @builtin_layouts(%a: memref<2x3xf32, strided<[5, 1], offset: 2>>, %b: memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %a into %b : memref<2x3xf32, strided<[5, 1], offset: 2>> into memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>>
  func.return
}
