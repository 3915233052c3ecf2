// RUN: layoutc-opt -p plan-reorders{target=avx2} %s | filecheck %s
// RUN: layoutc-opt -p plan-reorders{target=avx2} %s | layoutc-opt | filecheck %s

// A transpose: 8 rows of 8 lanes are exchanged in registers of 32 bytes.
// CHECK-LABEL: func.func @transpose(
// CHECK: plan ["threads 1", "copy 0 -> 0: 64x(1, 64) 64x(64, 1), elements of 4, vectors of 32, any shuffles, tile 8x8, lanes 0:8 -> 1:8, macro 64x64, outer 0 1, inner 0 1, normal stores"]
func.func @transpose(%a: memref<64x64xf32>, %b: memref<64x64xf32, #layout.map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %a into %b : memref<64x64xf32> into memref<64x64xf32, #layout.map<(d0, d1) -> (d1, d0)>>
  func.return
}

// A tail: full blocks, and a block of which one channel of 8 is loaded and the rest becomes zero.
// CHECK-LABEL: func.func @tail(
// CHECK: copy 0 -> 0: 2x(160, 160) 20x(1, 8) 8x(20, 1),
// CHECK-SAME: copy 320 -> 320: 20x(1, 8) 8x(20, 1)/1,
func.func @tail(%a: memref<17x20xf32>, %b: memref<17x20xf32, #layout.map<(d0, d1) -> (d0 floordiv 8, d1, d0 mod 8)>>) {
  layout.reorder %a into %b : memref<17x20xf32> into memref<17x20xf32, #layout.map<(d0, d1) -> (d0 floordiv 8, d1, d0 mod 8)>>
  func.return
}

// Pairs that stay neighbours move as one element of 4 bytes.
// CHECK-LABEL: func.func @pairs(
// CHECK: copy 0 -> 0: 16x(1, 16) 16x(16, 1), elements of 4,
func.func @pairs(%a: memref<16x32xbf16>, %b: memref<16x32xbf16, #layout.map<(d0, d1) -> (d1 floordiv 2, d0, d1 mod 2)>>) {
  layout.reorder %a into %b : memref<16x32xbf16> into memref<16x32xbf16, #layout.map<(d0, d1) -> (d1 floordiv 2, d0, d1 mod 2)>>
  func.return
}

// Three channels go apart in registers: the lanes hold all of digit 2.
// CHECK-LABEL: func.func @channels(
// CHECK: tile 3x32, lanes 0:3 1:32 -> 1:32,
func.func @channels(%a: memref<3x640xui8, #layout.map<(d0, d1) -> (d1, d0)>>, %b: memref<3x640xui8>) {
  layout.reorder %a into %b : memref<3x640xui8, #layout.map<(d0, d1) -> (d1, d0)>> into memref<3x640xui8>
  func.return
}

// A plan that is there stays: somebody may have edited it.
// CHECK-LABEL: func.func @kept(
// CHECK: plan ["threads 7", "copy 0 -> 0: 4x(1, 1), elements of 4, vectors of 16, unpack shuffles, tile 4, lanes 0:4 -> 0:4, macro 4, outer 0, inner 0, normal stores"]
func.func @kept(%a: memref<4xf32>, %b: memref<4xf32>) {
  layout.reorder %a into %b plan ["threads 7", "copy 0 -> 0: 4x(1, 1), elements of 4, vectors of 16, unpack shuffles, tile 4, lanes 0:4 -> 0:4, macro 4, outer 0, inner 0, normal stores"] : memref<4xf32> into memref<4xf32>
  func.return
}

// Axes that are flattened before they are blocked count as one axis on both sides, whose elements are stored with the
// zeros behind them.
// CHECK-LABEL: func.func @flattened(
// CHECK: plan ["threads 1", "copy 0 -> 0: 12x(1, 1)/9, {{.*}}, tile 12, merged lanes 0:12 -> 0:12,
func.func @flattened(%a: memref<3x3xf32>, %b: memref<3x3xf32, #layout.map<(d0, d1) -> ((d0 * 3 + d1) floordiv 4, (d0 * 3 + d1) mod 4)>>) {
  layout.reorder %a into %b : memref<3x3xf32> into memref<3x3xf32, #layout.map<(d0, d1) -> ((d0 * 3 + d1) floordiv 4, (d0 * 3 + d1) mod 4)>>
  func.return
}

// Behind a border the first block is cut short, and whole blocks and the tail follow.
// CHECK-LABEL: func.func @border(
// CHECK: plan ["threads 1", "copy 0 -> 1: 3x(1, 4) 3x(3, 1), {{.*}}", "copy 9 -> 12: 3x(1, 4) 4x(3, 1)/2,
func.func @border(%a: memref<5x3xf32>, %b: memref<5x3xf32, #layout.map<(d0, d1) -> (d0 floordiv 4, d1, d0 mod 4), low = [1, 0]>>) {
  layout.reorder %a into %b : memref<5x3xf32> into memref<5x3xf32, #layout.map<(d0, d1) -> (d0 floordiv 4, d1, d0 mod 4), low = [1, 0]>>
  func.return
}

// Booleans are moved as bytes.
// CHECK-LABEL: func.func @booleans(
// CHECK: plan ["threads 1", "copy 0 -> 0: 3x(1, 5) 5x(3, 1), elements of 1,
func.func @booleans(%a: memref<5x3xi1>, %b: memref<5x3xi1, #layout.map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %a into %b : memref<5x3xi1> into memref<5x3xi1, #layout.map<(d0, d1) -> (d1, d0)>>
  func.return
}

// Rows of 3x3 weights fill no register: digits 1 and 2 count as one, which fills it.
// CHECK-LABEL: func.func @filters(
// CHECK: plan ["threads 1", "copy 0 -> 0: 32x(1, 288) [32x(32, 9) 9x(1024, 1)], elements of 4, vectors of 32, any shuffles, tile 8x8, lanes 0:8 -> 1:8,
func.func @filters(%a: memref<32x32x9xf32, #layout.map<(d0, d1, d2) -> (d2, d1, d0)>>, %b: memref<32x32x9xf32>) {
  layout.reorder %a into %b : memref<32x32x9xf32, #layout.map<(d0, d1, d2) -> (d2, d1, d0)>> into memref<32x32x9xf32>
  func.return
}

// A plan has both widths of elements that are converted, and where their parameters are. Here rows are converted as they
// lie, into a buffer, and bytes are moved out of it.
// CHECK-LABEL: func.func @converts(
// CHECK:         layout.reorder %a into %b with (dst_scale = 0.5) plan ["threads 1", "through a buffer: 64x(4, 64) by 64, 64x(256, 1) by 64, in bytes", "  into it, copy 0 -> 0: 4096x(1, 1), elements of 4 to 1, {{.*}}", "  out of it, copy 0 -> 0: 64x(1, 64) 64x(64, 1), elements of 1, {{.*}}"]
// CHECK-NEXT:    layout.reorder %a into %b with (dst_scale = %s axes [0]) plan ["threads 1", "through a buffer: 64x(4, 64, 0) by 64, 64x(256, 1, 1) by 64, in bytes", "  into it, copy 0 -> 0 with 0: 64x(64, 64, 1) 64x(1, 1, 0), elements of 4 to 1, {{.*}}", "  out of it, copy 0 -> 0: {{.*}}"]
// CHECK-NEXT:    layout.reorder %a into %b with (sum = 1) plan ["threads 1", "copy 0 -> 0: 64x(1, 64) 64x(64, 1), elements of 4 to 1 when stored, {{.*}}"]
func.func @converts(%a: memref<64x64xf32>, %b: memref<64x64xi8, #layout.map<(d0, d1) -> (d1, d0)>>, %s: memref<64xf32>) {
  layout.reorder %a into %b with (dst_scale = 0.5) : memref<64x64xf32> into memref<64x64xi8, #layout.map<(d0, d1) -> (d1, d0)>>
  layout.reorder %a into %b with (dst_scale = %s axes [0]) : memref<64x64xf32> into memref<64x64xi8, #layout.map<(d0, d1) -> (d1, d0)>>, memref<64xf32>
  layout.reorder %a into %b with (sum = 1.0) : memref<64x64xf32> into memref<64x64xi8, #layout.map<(d0, d1) -> (d1, d0)>>
  func.return
}
