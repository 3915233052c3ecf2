// RUN: layoutc-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// An attribute that does not exist, at its place.
// CHECK: conversions_invalid.mlir:7:35
// CHECK: an attribute of a conversion
func.func @word(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (scale = 0.5) : memref<2x3xf32> into memref<2x3xi8>
}

// -----

// An attribute that is given twice.
// CHECK: conversions_invalid.mlir:16:46
// CHECK: sum is given twice
func.func @twice(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (sum = 0.5, sum = 1.0) : memref<2x3xf32> into memref<2x3xi8>
}

// -----

// A value that its type does not have.
// CHECK: conversions_invalid.mlir:25:35
// CHECK: value 300 is no u8, expected an integer from 0 to 255
func.func @value(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (dst_zero_point = 300 : u8) : memref<2x3xf32> into memref<2x3xi8>
}

// -----

// As many values as the axes have: the caret stands under the conversion.
// CHECK: conversions_invalid.mlir:34:29
// CHECK: dst scale has 2 values, expected 3 for axes (1,)
func.func @count(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (dst_scale = [0.5, 0.25] axes [1]) : memref<2x3xf32> into memref<2x3xi8>
}

// -----

// Operands of the right size and type: the caret stands under the type.
// CHECK: conversions_invalid.mlir:43:99
// CHECK: dst_scale: got memref<2xf32>, expected 3 of f32 in row-major order
func.func @operand(%a: memref<2x3xf32>, %b: memref<2x3xi8>, %s: memref<2xf32>) {
  layout.reorder %a into %b with (dst_scale = %s axes [1]) : memref<2x3xf32> into memref<2x3xi8>, memref<2xf32>
}

// -----

// Operands of another type: the conversion says which.
// CHECK: expected 3 of f32 in row-major order; in the conversion, `: f16` behind a parameter is its type
func.func @type_of_operand(%a: memref<2x3xf32>, %b: memref<2x3xi8>, %s: memref<3xf16>) {
  layout.reorder %a into %b with (dst_scale = %s axes [1]) : memref<2x3xf32> into memref<2x3xi8>, memref<3xf16>
}

// -----

// As many operands as there are values given at run time: the type behind which one is missing is shown.
// CHECK: into memref<2x3xi8>{{$}}
// CHECK-NEXT: {{^ +\^{14}$}}
// CHECK-NEXT: got 0 types of arguments, expected 1
func.func @types(%a: memref<2x3xf32>, %b: memref<2x3xi8>, %s: memref<3xf32>) {
  layout.reorder %a into %b with (dst_scale = %s axes [1]) : memref<2x3xf32> into memref<2x3xi8>
}

// -----

// More types than operands: the first of them is shown.
// CHECK: into memref<2x3xi8>, memref<3xf32>{{$}}
// CHECK-NEXT: {{^ +\^{13}$}}
// CHECK-NEXT: got 1 types of arguments, expected 0
func.func @more_types(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (dst_scale = 0.5) : memref<2x3xf32> into memref<2x3xi8>, memref<3xf32>
}

// -----

// Sum reads memory that a value does not have.
// CHECK: layout.reorder on tensors takes neither sum nor arguments: they are memory
func.func @sum(%a: tensor<2x3xf32>) {
  %b = layout.reorder %a with (sum = 1.0) : tensor<2x3xf32> to tensor<2x3xi8>
}

// -----

// The generic form is checked as well.
// CHECK: got 0 arguments, expected 1: dst_scale
func.func @generic(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  "layout.reorder"(%a, %b) <{conversion = #layout.conversion<dst_scale = ? axes [1]>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<2x3xf32>, memref<2x3xi8>) -> ()
  func.return
}

// -----

// The bits of a float: MLIR would read 1.0, and xDSL 1065353216.
// CHECK: conversions_invalid.mlir:97:53
// CHECK: expected a number in decimal digits
func.func @bits(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b with (src_scale = [0.5, 0x3F800000] axes [0]) : memref<2x3xf32> into memref<2x3xi8>
}

// -----

// Nothing in the generic form says which operand is which, but the order.
// CHECK: got dst_scale, src_scale, expected the order src_scale, dst_scale
func.func @generic_order(%a: memref<2x3xf32>, %b: memref<2x3xi8>, %s: memref<1xf32>, %t: memref<1xf32>) {
  "layout.reorder"(%a, %b, %s, %t) <{conversion = #layout.conversion<dst_scale = ?, src_scale = ?>, operandSegmentSizes = array<i32: 1, 1, 2>}> : (memref<2x3xf32>, memref<2x3xi8>, memref<1xf32>, memref<1xf32>) -> ()
  func.return
}

// -----

// As many values as there are, along other axes.
// CHECK: dst_scale: got shape (3, 2), expected (2, 3)
func.func @transposed(%a: memref<2x3xf32>, %b: memref<2x3xi8>, %s: memref<3x2xf32>) {
  layout.reorder %a into %b with (dst_scale = %s axes [0, 1]) : memref<2x3xf32> into memref<2x3xi8>, memref<3x2xf32>
}

// -----

// A type that no scale has is not offered.
// CHECK: dst_scale: got memref<3xf64>, expected 3 of f32 in row-major order{{$}}
func.func @no_type_of_scales(%a: memref<2x3xf32>, %b: memref<2x3xi8>, %s: memref<3xf64>) {
  layout.reorder %a into %b with (dst_scale = %s axes [1]) : memref<2x3xf32> into memref<2x3xi8>, memref<3xf64>
}
