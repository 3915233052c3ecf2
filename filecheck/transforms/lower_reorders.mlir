// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | filecheck %s
// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | layoutc-opt | filecheck %s

// Loops over the logical index, both offset maps in plain view, and zero in the tail of c.
// CHECK-LABEL: func.func @tail(%src: memref<680xf32>, %dst: memref<960xf32>) {
// CHECK-DAG:     [[C0:%.*]] = arith.constant 0 : index
// CHECK-DAG:     [[C1:%.*]] = arith.constant 1 : index
// CHECK-DAG:     [[C2:%.*]] = arith.constant 2 : index
// CHECK-DAG:     [[C17:%.*]] = arith.constant 17 : index
// CHECK-DAG:     [[C5:%.*]] = arith.constant 5 : index
// CHECK-DAG:     [[C4:%.*]] = arith.constant 4 : index
// CHECK-DAG:     [[C24:%.*]] = arith.constant 24 : index
// CHECK:         scf.for [[N:%n]] = [[C0]] to [[C2]] step [[C1]] {
// CHECK-NEXT:      scf.for [[C:%c]] = [[C0]] to [[C17]] step [[C1]] {
// CHECK-NEXT:        scf.for [[H:%h]] = [[C0]] to [[C5]] step [[C1]] {
// CHECK-NEXT:          scf.for [[W:%w]] = [[C0]] to [[C4]] step [[C1]] {
// CHECK-NEXT:            [[FROM:%src_offset]] = affine.apply affine_map<(d0, d1, d2, d3) -> (((((d0 * 340) + (d1 * 20)) + (d2 * 4)) + d3))> ([[N]], [[C]], [[H]], [[W]])
// CHECK-NEXT:            [[V:%value]] = memref.load %src[[[FROM]]] : memref<680xf32>
// CHECK-NEXT:            [[TO:%dst_offset]] = affine.apply affine_map<(d0, d1, d2, d3) -> ((((((d0 * 480) + ((d1 floordiv 8) * 160)) + (d2 * 32)) + (d3 * 8)) + (d1 mod 8)))> ([[N]], [[C]], [[H]], [[W]])
// CHECK-NEXT:            memref.store [[V]], %dst[[[TO]]] : memref<960xf32>
// CHECK-NEXT:          }
// CHECK:         [[ZERO:%zero]] = arith.constant 0.000000e+00 : f32
// CHECK:         scf.for [[N2:%.*]] = [[C0]] to [[C2]] step [[C1]] {
// CHECK-NEXT:      scf.for [[CT:%.*]] = [[C17]] to [[C24]] step [[C1]] {
// CHECK:               [[AT:%.*]] = affine.apply affine_map<(d0, d1, d2, d3) -> ((((((d0 * 480) + ((d1 floordiv 8) * 160)) + (d2 * 32)) + (d3 * 8)) + (d1 mod 8)))> ([[N2]], [[CT]],
// CHECK-NEXT:          memref.store [[ZERO]], %dst[[[AT]]] : memref<960xf32>
// CHECK-NOT: layout.reorder
// CHECK: func.return
func.func @tail(%src: memref<2x17x5x4xf32, #layout.tag<"nchw">>, %dst: memref<2x17x5x4xf32, #layout.tag<"nChw8c">>) {
  layout.reorder %src into %dst : memref<2x17x5x4xf32, #layout.tag<"nchw">> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  func.return
}

// Rank 0: no loop at all.
// CHECK-LABEL: func.func @scalar(%src: memref<1xf32>, %dst: memref<4xf32>) {
// CHECK-NEXT: [[C0:%.*]] = arith.constant 0 : index
// CHECK-NEXT: [[C3:%.*]] = arith.constant 3 : index
// CHECK-NEXT: [[V:%.*]] = memref.load %src[[[C0]]]
// CHECK-NEXT: memref.store [[V]], %dst[[[C3]]]
// CHECK-NEXT: func.return
func.func @scalar(%src: memref<f32, #layout.map<() -> ()>>, %dst: memref<f32, #layout.map<() -> (), offset = 3>>) {
  layout.reorder %src into %dst : memref<f32, #layout.map<() -> ()>> into memref<f32, #layout.map<() -> (), offset = 3>>
  func.return
}

// Axes of extent 1 have no loop, and no term in either map.
// CHECK-LABEL: func.func @unit_axes(
// CHECK: scf.for %n =
// CHECK-NEXT: scf.for %h =
// CHECK-NEXT: [[FROM:%.*]] = affine.apply affine_map<(d0, d1) -> (((d0 * 3) + d1))> (%n, %h)
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @unit_axes(%src: memref<2x1x3x1xf32, #layout.tag<"nchw">>, %dst: memref<2x1x3x1xf32, #layout.tag<"nhwc">>) {
  layout.reorder %src into %dst : memref<2x1x3x1xf32, #layout.tag<"nchw">> into memref<2x1x3x1xf32, #layout.tag<"nhwc">>
  func.return
}

// Tails on two axes: the second nest takes the tail of a with all of b, the third that of b inside of a.
// CHECK-LABEL: func.func @two_tails(
// CHECK: scf.for %a = {{%c0}} to {{%c5}}
// CHECK-NEXT: scf.for %b = {{%c0}} to {{%c6}}
// CHECK: scf.for %a_1 = {{%c5}} to {{%c8}}
// CHECK-NEXT: scf.for %b_1 = {{%c0}} to {{%c8}}
// CHECK: scf.for %a_2 = {{%c0}} to {{%c5}}
// CHECK-NEXT: scf.for %b_2 = {{%c6}} to {{%c8}}
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @two_tails(%src: memref<5x6xi8, #layout.tag<"ab">>, %dst: memref<5x6xi8, #layout.tag<"BA4b4a">>) {
  layout.reorder %src into %dst : memref<5x6xi8, #layout.tag<"ab">> into memref<5x6xi8, #layout.tag<"BA4b4a">>
  func.return
}

// A border is never written: the tail of the blocked axis starts behind it, and the other axis stays inside.
// CHECK-LABEL: func.func @border(
// CHECK: scf.for %a = %c0 to %c2
// CHECK-NEXT: scf.for %b = %c0 to %c3
// CHECK: %dst_offset = affine.apply affine_map<(d0, d1) -> (((((d0 * 8) + 8) + (((d1 + 1) floordiv 4) * 4)) + ((d1 + 1) mod 4)))> (%a, %b)
// CHECK: scf.for %a_1 = %c0 to %c2
// CHECK-NEXT: scf.for %b_1 = %c6 to %c8
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @border(%src: memref<2x3xf32>, %dst: memref<2x3xf32, #layout.tag<"aB4b", low = [1, 1], high = [1, 2]>>) {
  layout.reorder %src into %dst axes ["a", "b"] : memref<2x3xf32> into memref<2x3xf32, #layout.tag<"aB4b", low = [1, 1], high = [1, 2]>>
  func.return
}

// Merged lanes: rows of any length go through registers, the last load earlier, the last store under a mask.
// CHECK-LABEL: func.func @merged(
// CHECK: [[FIRST:%.*]] = vector.create_mask %c7 : vector<8xi1>
// CHECK-NEXT: [[A:%.*]] = vector.load %src_flat[%c0] {layout.comment = "from 3x5xf64, {{.*}}"} : memref<15xf64>, vector<8xf64>
// CHECK-NEXT: [[B:%.*]] = vector.load %src_flat[%c7] : memref<15xf64>, vector<8xf64>
// CHECK-NEXT: [[C:%.*]] = vector.shuffle [[A]], [[B]] [0, 5, 11, 1, 6, 12, 2, 7] : vector<8xf64>, vector<8xf64>
// CHECK-NEXT: [[D:%.*]] = vector.shuffle [[A]], [[B]] [13, 3, 9, 14, 4, 10, 15, 7] : vector<8xf64>, vector<8xf64>
// CHECK-NEXT: vector.store [[C]], %dst[%c0] : memref<15xf64>, vector<8xf64>
// CHECK-NEXT: vector.maskedstore %dst[%c8], [[FIRST]], [[D]] : memref<15xf64>, vector<8xi1>, vector<8xf64>
// CHECK-NEXT: func.return
func.func @merged(%src: memref<3x5xf64>, %dst: memref<3x5xf64, #layout.map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %src into %dst plan ["threads 1", "copy 0 -> 0: 5x(1, 3) 3x(5, 1), elements of 8, vectors of 64, any shuffles, tile 5x3, merged lanes 0:5 1:3 -> 1:3 0:5, macro 5x3, outer 0 1, inner 0 1, normal stores"] : memref<3x5xf64> into memref<3x5xf64, #layout.map<(d0, d1) -> (d1, d0)>>
  func.return
}

// The last macro tile has fewer tiles: those that begin inside of the copy, the last of which ends where that ends.
// CHECK-LABEL: func.func @cut(
// CHECK: scf.for [[M:%i0.*]] = %c0 to %c3 step %c1 {
// CHECK-NEXT: [[END:%end]] = affine.min affine_map<(d0) -> (2, (((d0 * -16) + 45) ceildiv 8))> ([[M]])
// CHECK-NEXT: scf.for [[T:%i0.*]] = %c0 to [[END]] step %c1 {
// CHECK-NEXT: [[START:%start0]] = affine.min affine_map<(d0, d1) -> (((d0 * 16) + (d1 * 8)), 37)> ([[M]], [[T]])
// CHECK-NEXT: vector.load %src[[[START]]]
func.func @cut(%src: memref<45xf32>, %dst: memref<45xf32>) {
  layout.reorder %src into %dst plan ["threads 1", "copy 0 -> 0: 45x(1, 1), elements of 4, vectors of 32, any shuffles, tile 8, lanes 0:8 -> 0:8, macro 16, outer 0, inner 0, normal stores"] : memref<45xf32> into memref<45xf32>
  func.return
}

// A plain or strided memref keeps its type; the loops see it through a flat view.
// CHECK-LABEL: func.func @foreign_types(
// CHECK-SAME: %src: memref<2x3xf32, strided<[5, 1], offset: 2>>, %dst: memref<2x3xf32>
// CHECK: %src_flat = memref.reinterpret_cast %src to offset: [0], sizes: [10], strides: [1] : memref<2x3xf32, strided<[5, 1], offset: 2>> to memref<10xf32>
// CHECK: %dst_flat = memref.reinterpret_cast %dst to offset: [0], sizes: [6], strides: [1] : memref<2x3xf32> to memref<6xf32>
func.func @foreign_types(%src: memref<2x3xf32, strided<[5, 1], offset: 2>>, %dst: memref<2x3xf32>) {
  layout.reorder %src into %dst : memref<2x3xf32, strided<[5, 1], offset: 2>> into memref<2x3xf32>
  func.return
}

// Loads and stores of others go through the offset map; allocations become flat.
// CHECK-LABEL: func.func @access(%i: index, %v: f32) -> f32 {
// CHECK-NEXT: %m = memref.alloc() : memref<48xf32>
// CHECK-NEXT: [[O:%.*]] = affine.apply affine_map<(d0, d1) -> ((((d0 * 24) + ((d1 floordiv 8) * 8)) + (d1 mod 8)))> (%i, %i)
// CHECK-NEXT: memref.store %v, %m[[[O]]] : memref<48xf32>
// CHECK-NEXT: [[P:%.*]] = affine.apply
// CHECK-NEXT: [[R:%.*]] = memref.load %m[[[P]]] : memref<48xf32>
// CHECK-NEXT: memref.dealloc %m : memref<48xf32>
// CHECK-NEXT: func.return [[R]] : f32
func.func @access(%i: index, %v: f32) -> f32 {
  %m = memref.alloc() : memref<2x17xf32, #layout.tag<"aB8b">>
  memref.store %v, %m[%i, %i] : memref<2x17xf32, #layout.tag<"aB8b">>
  %r = memref.load %m[%i, %i] : memref<2x17xf32, #layout.tag<"aB8b">>
  memref.dealloc %m : memref<2x17xf32, #layout.tag<"aB8b">>
  func.return %r : f32
}

// A zero has the element's type: unsigned and 8-bit float elements get theirs through a cast.
// CHECK-LABEL: func.func @zeros(
// CHECK: [[I:%.*]] = arith.constant 0 : i8
// CHECK-NEXT: [[U:%.*]] = builtin.unrealized_conversion_cast [[I]] : i8 to ui8
// CHECK: memref.store [[U]], %b
// CHECK: [[J:%.*]] = arith.constant 0 : i8
// CHECK-NEXT: [[F:%.*]] = arith.bitcast [[J]] : i8 to f8E5M2
// CHECK: memref.store [[F]], %d
func.func @zeros(%a: memref<3xui8>, %b: memref<3xui8, #layout.tag<"A4a">>, %c: memref<3xf8E5M2>, %d: memref<3xf8E5M2, #layout.tag<"A4a">>) {
  layout.reorder %a into %b : memref<3xui8> into memref<3xui8, #layout.tag<"A4a">>
  layout.reorder %c into %d : memref<3xf8E5M2> into memref<3xf8E5M2, #layout.tag<"A4a">>
  func.return
}

// What has no layout stays as it is.
// CHECK-LABEL: func.func @untouched(%m: memref<2x3xf32>, %i: index) -> f32 {
// CHECK-NEXT: [[R:%.*]] = memref.load %m[%i, %i] : memref<2x3xf32>
// CHECK-NEXT: func.return [[R]] : f32
func.func @untouched(%m: memref<2x3xf32>, %i: index) -> f32 {
  %r = memref.load %m[%i, %i] : memref<2x3xf32>
  func.return %r : f32
}
