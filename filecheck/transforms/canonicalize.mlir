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

// A chain through a buffer of its own becomes one reorder, and the buffer goes: what is allocated here cannot
// be an argument.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: [[DST:%.*]] = memref.alloc() : memref<2x17xf32, #layout.map<(d0, d1) -> (d1, d0)>>
// CHECK-NEXT: layout.reorder %src into [[DST]] axes ["n", "c"] : memref<2x17xf32> into memref<2x17xf32, #layout.map<(d0, d1) -> (d1, d0)>>
// CHECK-NEXT: func.return [[DST]] :
func.func @chain(%src: memref<2x17xf32>) -> memref<2x17xf32, #layout.tag<"ba">> {
  %middle = memref.alloc() : memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">>
  %dst = memref.alloc() : memref<2x17xf32, #layout.tag<"ba">>
  layout.reorder %src into %middle axes ["n", "c"] : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">>
  layout.reorder %middle into %dst axes ["n", "c"] : memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">> into memref<2x17xf32, #layout.tag<"ba">>
  memref.dealloc %middle : memref<2x17xf32, #layout.tag<"openvino:bs_fs_bsv4_fsv4">>
  func.return %dst : memref<2x17xf32, #layout.tag<"ba">>
}

// The same from a buffer of this function into an argument, through a view of it.
// CHECK-LABEL: func.func @chain_out(
// CHECK-NEXT: [[SRC:%.*]] = memref.alloca() : memref<34xf32>
// CHECK-NEXT: [[VIEW:%.*]] = memref.reinterpret_cast [[SRC]] to
// CHECK-NEXT: layout.reorder [[VIEW]] into %dst :
// CHECK-NEXT: func.return
func.func @chain_out(%dst: memref<2x17xf32>) {
  %src = memref.alloca() : memref<34xf32>
  %view = memref.reinterpret_cast %src to offset: [0], sizes: [2, 17], strides: [17, 1] : memref<34xf32> to memref<2x17xf32>
  %middle = memref.alloc() : memref<2x17xf32>
  layout.reorder %view into %middle : memref<2x17xf32> into memref<2x17xf32>
  layout.reorder %middle into %dst : memref<2x17xf32> into memref<2x17xf32>
  func.return
}

// Somebody's buffer in the middle is still written, though the second reorder reads past it.
// CHECK-LABEL: func.func @observed_middle(
// CHECK-NEXT: [[DST:%.*]] = memref.alloc()
// CHECK-NEXT: layout.reorder %src into %middle :
// CHECK-NEXT: layout.reorder %src into [[DST]] :
// CHECK-NEXT: func.return
func.func @observed_middle(%src: memref<2x17xf32>, %middle: memref<2x17xf32>) -> memref<2x17xf32> {
  %dst = memref.alloc() : memref<2x17xf32>
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  layout.reorder %middle into %dst : memref<2x17xf32> into memref<2x17xf32>
  func.return %dst : memref<2x17xf32>
}

// Two arguments may be one buffer: the first two and the last two do not overlap here, the outer two may.
// CHECK-LABEL: func.func @two_arguments(
// CHECK: layout.reorder %middle into %dst :
func.func @two_arguments(%src: memref<2x17xf32>, %middle: memref<2x17xf32>, %dst: memref<2x17xf32>) {
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  layout.reorder %middle into %dst : memref<2x17xf32> into memref<2x17xf32>
  func.return
}

// Two views of one buffer, by a cast and by a cast of a subview: in place, through a copy.
// CHECK-LABEL: func.func @views_of_one_buffer(
// CHECK: layout.reorder [[MIDDLE:%middle]] into %transposed :
func.func @views_of_one_buffer() -> memref<3x3xf32> {
  %buffer = memref.alloc() : memref<3x3xf32>
  %middle = memref.alloc() : memref<3x3xf32>
  %part = memref.subview %buffer[0, 0] [3, 3] [1, 1] : memref<3x3xf32> to memref<3x3xf32>
  %transposed = memref.reinterpret_cast %part to offset: [0], sizes: [3, 3], strides: [1, 3] : memref<3x3xf32> to memref<3x3xf32, strided<[1, 3]>>
  %whole = "memref.cast"(%buffer) : (memref<3x3xf32>) -> memref<3x3xf32>
  layout.reorder %whole into %middle : memref<3x3xf32> into memref<3x3xf32>
  layout.reorder %middle into %transposed : memref<3x3xf32> into memref<3x3xf32, strided<[1, 3]>>
  func.return %buffer : memref<3x3xf32>
}

// What a call hands out, or a loop hands on, may be any buffer that the function has let out of its sight.
// CHECK-LABEL: func.func @unknown_root(
// CHECK: layout.reorder [[MIDDLE:%middle]] into %dst :
// CHECK: layout.reorder [[MIDDLE]] into %carried :
func.func @unknown_root(%n: index) {
  %src = memref.alloc() : memref<2x17xf32>
  %middle = memref.alloc() : memref<2x17xf32>
  %dst = func.call @view_of(%src) : (memref<2x17xf32>) -> memref<2x17xf32>
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  layout.reorder %middle into %dst : memref<2x17xf32> into memref<2x17xf32>
  %last = scf.for %i = %n to %n step %n iter_args(%carried = %src) -> (memref<2x17xf32>) {
    layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
    layout.reorder %middle into %carried : memref<2x17xf32> into memref<2x17xf32>
    scf.yield %src : memref<2x17xf32>
  }
  func.return
}
func.func private @view_of(memref<2x17xf32>) -> memref<2x17xf32>

// A write in between breaks the chain: here the source may have changed.
// CHECK-LABEL: func.func @written_between(
// CHECK: layout.reorder %middle into [[DST:%.*]] :
func.func @written_between(%src: memref<2x17xf32>, %middle: memref<2x17xf32>, %v: f32, %i: index) -> memref<2x17xf32> {
  %dst = memref.alloc() : memref<2x17xf32>
  layout.reorder %src into %middle : memref<2x17xf32> into memref<2x17xf32>
  memref.store %v, %src[%i, %i] : memref<2x17xf32>
  layout.reorder %middle into %dst : memref<2x17xf32> into memref<2x17xf32>
  func.return %dst : memref<2x17xf32>
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

// A reorder that only moves bits goes into a conversion on either side of it; the conversion stays.
// CHECK-LABEL: func.func @around_conversion(
// CHECK-NEXT:    [[B:%.*]] = layout.reorder %a with (dst_scale = 0.5) {{(axes .* )?}}: tensor<2x17xf32> to tensor<2x17xi8>
// CHECK-NEXT:    func.return [[B]]
func.func @around_conversion(%a: tensor<2x17xf32>) -> tensor<2x17xi8> {
  %0 = layout.reorder %a : tensor<2x17xf32> to tensor<2x17xf32, #layout.tag<"ba">>
  %1 = layout.reorder %0 with (dst_scale = 0.5) : tensor<2x17xf32, #layout.tag<"ba">> to tensor<2x17xi8>
  func.return %1 : tensor<2x17xi8>
}

// CHECK-LABEL: func.func @behind_conversion(
// CHECK-NEXT:    [[B:%.*]] = layout.reorder %a {{(axes .* )?}}: tensor<2x17xf32> to tensor<2x17xi8, #layout{{.*}}>
// CHECK-NEXT:    func.return [[B]]
func.func @behind_conversion(%a: tensor<2x17xf32>) -> tensor<2x17xi8, #layout.tag<"ba">> {
  %0 = layout.reorder %a : tensor<2x17xf32> to tensor<2x17xi8>
  %1 = layout.reorder %0 : tensor<2x17xi8> to tensor<2x17xi8, #layout.tag<"ba">>
  func.return %1 : tensor<2x17xi8, #layout.tag<"ba">>
}

// Two conversions are not one: the first has rounded. One to the same type is no identity.
// CHECK-LABEL: func.func @two_conversions(
// CHECK-NEXT:    [[B:%.*]] = layout.reorder %a : tensor<2x17xf32> to tensor<2x17xi8>
// CHECK-NEXT:    [[C:%.*]] = layout.reorder [[B]] : tensor<2x17xi8> to tensor<2x17xf32>
// CHECK-NEXT:    [[D:%.*]] = layout.reorder [[C]] with (src_scale = 0.5) : tensor<2x17xf32> to tensor<2x17xf32>
// CHECK-NEXT:    func.return [[D]]
func.func @two_conversions(%a: tensor<2x17xf32>) -> tensor<2x17xf32> {
  %0 = layout.reorder %a : tensor<2x17xf32> to tensor<2x17xi8>
  %1 = layout.reorder %0 : tensor<2x17xi8> to tensor<2x17xf32>
  %2 = layout.reorder %1 with (src_scale = 0.5) : tensor<2x17xf32> to tensor<2x17xf32>
  func.return %2 : tensor<2x17xf32>
}

// What a sum reads is not known before: the first reorder stays.
// CHECK-LABEL: func.func @behind_sum(
// CHECK-NEXT:    layout.reorder %a into %m with (sum = 1) : memref<4xf32> into memref<4xf32>
// CHECK-NEXT:    layout.reorder %m into %b : memref<4xf32> into memref<4xi8>
func.func @behind_sum(%a: memref<4xf32>, %m: memref<4xf32>, %b: memref<4xi8>) {
  layout.reorder %a into %m with (sum = 1.0) : memref<4xf32> into memref<4xf32>
  layout.reorder %m into %b : memref<4xf32> into memref<4xi8>
  func.return
}

// A plan is of one reorder: what reads another source has none.
// CHECK-LABEL: func.func @planned(
// CHECK-NEXT:    %c = memref.alloc()
// CHECK-NEXT:    layout.reorder %a into %c axes ["a", "b"] : memref<2x3xf32> into memref<2x3xf32, #layout{{.*}}>
func.func @planned(%a: memref<2x3xf32>) -> memref<2x3xf32, #layout.tag<"ba">> {
  %c = memref.alloc() : memref<2x3xf32, #layout.tag<"ba">>
  %b = memref.alloc() : memref<2x3xf32, #layout.tag<"aB2b">>
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xf32, #layout.tag<"aB2b">>
  layout.reorder %b into %c plan ["threads 1", "copy 0 -> 0: 2x(4, 1) 3x(1, 2), elements of 4, vectors of 16, any shuffles, tile 1x1, lanes - -> -, macro 2x3, outer 0 1, inner 0 1, normal stores"] : memref<2x3xf32, #layout.tag<"aB2b">> into memref<2x3xf32, #layout.tag<"ba">>
  func.return %c : memref<2x3xf32, #layout.tag<"ba">>
}
