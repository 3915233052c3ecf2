// RUN: layoutc-opt -p resolve-layouts,canonicalize %s | filecheck %s

// A value reordered to its own layout is that value.
// CHECK-LABEL: func.func @identity(
// CHECK-NEXT: func.return %t :
func.func @identity(%t: tensor<2x17xf32>) -> tensor<2x17xf32> {
  %r = layout.reorder %t : tensor<2x17xf32> to tensor<2x17xf32>
  func.return %r : tensor<2x17xf32>
}

// There and back again is nothing: the chain composes, then it is an identity.
// CHECK-LABEL: func.func @there_and_back(
// CHECK-NEXT: func.return %t :
func.func @there_and_back(%t: tensor<2x17xf32>) -> tensor<2x17xf32> {
  %b = layout.reorder %t : tensor<2x17xf32> to tensor<2x17xf32, #layout.tag<"aB8b">>
  %r = layout.reorder %b : tensor<2x17xf32, #layout.tag<"aB8b">> to tensor<2x17xf32>
  func.return %r : tensor<2x17xf32>
}

// With one channel nchw and nhwc are the same memory: no data moves, only the type changes.
// CHECK-LABEL: func.func @unit_axis(
// CHECK-NEXT: [[R:%.*]] = builtin.unrealized_conversion_cast %t : tensor<2x1x5x4xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>> to tensor<2x1x5x4xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>>
// CHECK-NEXT: func.return [[R]] :
func.func @unit_axis(%t: tensor<2x1x5x4xf32, #layout.tag<"nchw">>) -> tensor<2x1x5x4xf32, #layout.tag<"nhwc">> {
  %r = layout.reorder %t : tensor<2x1x5x4xf32, #layout.tag<"nchw">> to tensor<2x1x5x4xf32, #layout.tag<"nhwc">>
  func.return %r : tensor<2x1x5x4xf32, #layout.tag<"nhwc">>
}

// With two channels it is not.
// CHECK-LABEL: func.func @two_channels(
// CHECK-NEXT: layout.reorder %t axes ["n", "c", "h", "w"] :
func.func @two_channels(%t: tensor<2x2x5x4xf32, #layout.tag<"nchw">>) -> tensor<2x2x5x4xf32, #layout.tag<"nhwc">> {
  %r = layout.reorder %t : tensor<2x2x5x4xf32, #layout.tag<"nchw">> to tensor<2x2x5x4xf32, #layout.tag<"nhwc">>
  func.return %r : tensor<2x2x5x4xf32, #layout.tag<"nhwc">>
}

// A chain through a buffer of its own becomes one reorder, and the buffer goes.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: layout.reorder %src into %dst axes ["n", "c"] : memref<2x17xf32> into memref<2x17xf32, #layout.map<(d0, d1) -> (d1, d0)>>
// CHECK-NEXT: func.return
func.func @chain(%src: memref<2x17xf32>, %dst: memref<2x17xf32, #layout.tag<"ba">>) {
  %middle = memref.alloc() : memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">>
  layout.reorder %src into %middle axes ["n", "c"] : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">>
  layout.reorder %middle into %dst axes ["n", "c"] : memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">> into memref<2x17xf32, #layout.tag<"ba">>
  memref.dealloc %middle : memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">>
  func.return
}

// Somebody's buffer in the middle is still written, though the second reorder reads past it.
// CHECK-LABEL: func.func @observed_middle(
// CHECK-NEXT: layout.reorder %src into %middle :
// CHECK-NEXT: layout.reorder %src into %dst :
// CHECK-NEXT: func.return
func.func @observed_middle(%src: memref<2x17xf32>, %middle: memref<2x17xf32>, %dst: memref<2x17xf32>) {
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  layout.reorder %middle into %dst : memref<2x17xf32> into memref<2x17xf32>
  func.return
}

// A write in between breaks the chain: here the source may have changed.
// CHECK-LABEL: func.func @written_between(
// CHECK: layout.reorder %middle into %dst :
func.func @written_between(%src: memref<2x17xf32>, %middle: memref<2x17xf32>, %dst: memref<2x17xf32>, %v: f32, %i: index) {
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  memref.store %v, %src[%i, %i] : memref<2x17xf32>
  layout.reorder %middle into %dst : memref<2x17xf32> into memref<2x17xf32>
  func.return
}

// A copy back into its own source stays a copy: a reorder from a buffer into itself would overlap.
// CHECK-LABEL: func.func @copy_back(
// CHECK: layout.reorder %middle into %src :
func.func @copy_back(%src: memref<2x17xf32>, %middle: memref<2x17xf32>) {
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  layout.reorder %middle into %src : memref<2x17xf32> into memref<2x17xf32>
  func.return
}

// A buffer that is read otherwise stays.
// CHECK-LABEL: func.func @read_middle(
// CHECK-NEXT: [[M:%.*]] = memref.alloc()
// CHECK-NEXT: layout.reorder %src into [[M]] :
// CHECK-NEXT: [[V:%.*]] = memref.load [[M]][%i, %i]
// CHECK-NEXT: func.return [[V]] : f32
func.func @read_middle(%src: memref<2x17xf32>, %i: index) -> f32 {
  %middle = memref.alloc() : memref<2x17xf32>
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  %v = memref.load %middle[%i, %i] : memref<2x17xf32>
  func.return %v : f32
}
