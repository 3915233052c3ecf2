// RUN: layoutc-opt -p resolve-layouts %s | filecheck %s

// A name becomes a map; its letters stay on the reorder.
// CHECK-LABEL: func.func @blocked(
// CHECK-SAME: %src: memref<2x17x5x4xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>>
// CHECK-SAME: %dst: memref<2x17x5x4xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d1 floordiv 8, d2, d3, d1 mod 8)>>
// CHECK: layout.reorder %src into %dst axes ["n", "c", "h", "w"] :
func.func @blocked(%src: memref<2x17x5x4xf32, #layout.tag<"nchw">>, %dst: memref<2x17x5x4xf32, #layout.tag<"nChw8c">>) {
  layout.reorder %src into %dst : memref<2x17x5x4xf32, #layout.tag<"nchw">> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  func.return
}

// Letters that only number the axes give way to those of a domain, on whichever side they stand.
// CHECK-LABEL: func.func @letters(
// CHECK: layout.reorder %src into %dst axes ["o", "i", "y", "x"] :
func.func @letters(%src: memref<8x8x3x3xf32, #layout.tag<"abcd">>, %dst: memref<8x8x3x3xf32, #layout.tag<"os_is_yx_isv4_osv4">>) {
  layout.reorder %src into %dst : memref<8x8x3x3xf32, #layout.tag<"abcd">> into memref<8x8x3x3xf32, #layout.tag<"os_is_yx_isv4_osv4">>
  func.return
}

// Names that are given stay; a reorder without any letters gets none.
// CHECK-LABEL: func.func @given(
// CHECK: layout.reorder %src into %dst axes ["rows", "columns"] :
// CHECK: layout.reorder %src into %plain : memref
func.func @given(%src: memref<2x3xf32>, %dst: memref<2x3xf32, #layout.tag<"ba">>, %plain: memref<2x3xf32>) {
  layout.reorder %src into %dst axes ["rows", "columns"] : memref<2x3xf32> into memref<2x3xf32, #layout.tag<"ba">>
  layout.reorder %src into %plain : memref<2x3xf32> into memref<2x3xf32>
  func.return
}

// Strides, offset and border go along; dense strides are not repeated.
// CHECK-LABEL: func.func @options(
// CHECK-SAME: %a: memref<2x3xf32, #layout.map<(d0, d1) -> (d1, d0), strides = [4, 1], offset = 3, low = [0, 1], high = [0, 1]>>
// CHECK-SAME: %b: memref<2x3xf32, #layout.map<(d0, d1) -> (d1, d0)>>
func.func @options(
    %a: memref<2x3xf32, #layout.tag<"ba", strides = [4, 1], offset = 3, low = [0, 1], high = [0, 1]>>,
    %b: memref<2x3xf32, #layout.tag<"ba", strides = [2, 1]>>) {
  func.return
}

// Results, function types, block arguments, calls and tensors: no tag is left anywhere.
// CHECK-LABEL: func.func @everywhere(
// CHECK-NOT: layout.tag
// CHECK: func.call @callee(
// CHECK: memref.alloc() : memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>
// CHECK: func.return
func.func @everywhere(%m: memref<4x4xf32, #layout.tag<"ba">>, %t: tensor<4x4xf32, #layout.tag<"ba">>) -> tensor<4x4xf32, #layout.tag<"ba">> {
  func.call @callee(%m) : (memref<4x4xf32, #layout.tag<"ba">>) -> ()
  %a = memref.alloc() : memref<4x4xf32, #layout.tag<"ba">>
  func.return %t : tensor<4x4xf32, #layout.tag<"ba">>
}
// CHECK: func.func private @callee(memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) -> ()
func.func private @callee(memref<4x4xf32, #layout.tag<"ba">>) -> ()

// Types in attributes too: the type of a global, and one in somebody's dictionary.
// CHECK: type = memref<2x3xf32, #layout.map<(d0, d1) -> (d1, d0)>>
// CHECK-LABEL: func.func @attributes() attributes {types = [{of = tensor<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>}]}
"memref.global"() <{sym_name = "weights", type = memref<2x3xf32, #layout.tag<"ba">>, sym_visibility = "private", initial_value}> : () -> ()
func.func @attributes() attributes {types = [{of = tensor<4x4xf32, #layout.tag<"ba">>}]} {
  %w = memref.get_global @weights : memref<2x3xf32, #layout.tag<"ba">>
  func.return
}
