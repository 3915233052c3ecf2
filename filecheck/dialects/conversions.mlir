// RUN: layoutc-opt %s | layoutc-opt | filecheck %s
// RUN: layoutc-opt %s --print-op-generic | layoutc-opt | filecheck %s

// Element types that differ are a conversion, without further words.
// CHECK-LABEL: func.func @types(
// CHECK-NEXT: layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xi8, #layout.tag<"ba">>
func.func @types(%a: memref<2x3xf32>, %b: memref<2x3xi8, #layout.tag<"ba">>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xi8, #layout.tag<"ba">>
  func.return
}

// Attributes print in one order, numbers as short as their type allows, types where they are not the usual ones.
// CHECK-LABEL: func.func @constants(
// CHECK-NEXT: layout.reorder %a into %b with (src_scale = 0.1, src_zero_point = 3 : s8, dst_scale = [0.5, 2] axes [0], sum = 0.25, reciprocal) axes ["x", "y"] : memref<2x3xui8> into memref<2x3xi8>
func.func @constants(%a: memref<2x3xui8>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (reciprocal, sum = 0.25, src_scale = 0.100000001, dst_scale = [0.5, 2.0] axes [0] groups [1] : f32, src_zero_point = 3 : s8) axes ["x", "y"] : memref<2x3xui8> into memref<2x3xi8>
  func.return
}

// What changes nothing is left out.
// CHECK-LABEL: func.func @neutral(
// CHECK-NEXT: layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xi8>
func.func @neutral(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (src_scale = 1.0, dst_zero_point = 0, sum = 0.0) : memref<2x3xf32> into memref<2x3xi8>
  func.return
}

// Values that are given at run time are operands, and their types stand behind the destination's.
// CHECK-LABEL: func.func @arguments(
// CHECK-NEXT: layout.reorder %a into %b with (src_scale = %s axes [0, 1] groups [2, 5] : f16, src_zero_point = %z : u4) : memref<4x10xi4> into memref<4x10xf32>, memref<2x2xf16>, memref<1xui4>
func.func @arguments(%a: memref<4x10xi4>, %b: memref<4x10xf32>, %s: memref<2x2xf16>, %z: memref<1xui4>) {
  layout.reorder %a into %b with (src_scale = %s axes [0, 1] groups [2, 5] : f16, src_zero_point = %z : u4) : memref<4x10xi4> into memref<4x10xf32>, memref<2x2xf16>, memref<1xui4>
  func.return
}

// The sums of a compensation are memory of their own, as many as the padded axis has.
// CHECK-LABEL: func.func @compensation(
// CHECK-NEXT: layout.reorder %a into %b with (s8s8 = [0], asymmetric = [0, 1]) sums (%c, %d) : memref<5x3xf32> into memref<5x3xi8, #layout.tag<"Ab4a">>, memref<8xi32>, memref<8x3xi32>
func.func @compensation(%a: memref<5x3xf32>, %b: memref<5x3xi8, #layout.tag<"Ab4a">>, %c: memref<8xi32>, %d: memref<8x3xi32>) {
  layout.reorder %a into %b with (s8s8 = [0], asymmetric = [0, 1]) sums (%c, %d) : memref<5x3xf32> into memref<5x3xi8, #layout.tag<"Ab4a">>, memref<8xi32>, memref<8x3xi32>
  func.return
}

// Operands, sums and types follow the text, in whatever order that is.
// CHECK-LABEL: func.func @order(
// CHECK-NEXT: layout.reorder %a into %b with (src_scale = %t axes [1], dst_scale = %s axes [1]) : memref<2x3xf32> into memref<2x3xi8>, memref<3xf32>, memref<1x3xf32>
// CHECK-NEXT: layout.reorder %a into %b with (dst_scale = %s axes [1], s8s8 = [0], asymmetric = [1]) sums (%c, %d) : memref<2x3xf32> into memref<2x3xi8>, memref<1x3xf32>, memref<2xi32>, memref<3xi32>
func.func @order(%a: memref<2x3xf32>, %b: memref<2x3xi8>, %s: memref<1x3xf32>, %t: memref<3xf32>, %c: memref<2xi32>, %d: memref<3xi32>) {
  layout.reorder %a into %b with (dst_scale = %s axes [1], src_scale = %t axes [1]) : memref<2x3xf32> into memref<2x3xi8>, memref<1x3xf32>, memref<3xf32>
  layout.reorder %a into %b with (asymmetric = [1], s8s8 = [0], dst_scale = %s axes [1]) sums (%d, %c) : memref<2x3xf32> into memref<2x3xi8>, memref<1x3xf32>, memref<3xi32>, memref<2xi32>
  func.return
}

// On values, with constants alone.
// CHECK-LABEL: func.func @values(
// CHECK-NEXT: layout.reorder %a with (dst_scale = 0.5) : tensor<2x3xf32> to tensor<2x3xi8, #layout.tag<"ba">>
func.func @values(%a: tensor<2x3xf32>) {
  %b = layout.reorder %a with (dst_scale = 0.5) : tensor<2x3xf32> to tensor<2x3xi8, #layout.tag<"ba">>
  func.return
}
