// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | filecheck %s
// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | layoutc-opt | filecheck %s

// The last macro tiles begin earlier, at 13 of 21 and at 10 of 18, so that they lie in the source. What the ones before
// have moved is neither gathered nor moved again: a tile of 4 in the one, 6 rows of which are a tile in the other.
// CHECK-LABEL: func.func @transposed(
// CHECK:         scf.for %i0 = %c0 to %c3 step %c1 {
// CHECK-NEXT:      [[S0:%.*]] = affine.min affine_map<(d0) -> ((d0 * 8), 13)> (%i0)
// CHECK-NEXT:      scf.for %i1 = %c0 to %c3 step %c1 {
// CHECK-NEXT:        [[S1:%.*]] = affine.min affine_map<(d0) -> ((d0 * 8), 10)> (%i1)
// CHECK-NEXT:        [[ROW:%.*]] = affine.apply affine_map<(d0, d1) -> (((((d1 * 7) mod 8) floordiv 4) * 4))> ([[S0]], [[S1]])
// CHECK-NEXT:        scf.for {{%.*}} = [[ROW]] to %c8 step %c1 {
// CHECK:               vector.store %{{.*}}, %load_stage
// CHECK:             [[T0:%.*]] = affine.apply affine_map<(d0, d1) -> ((((d0 * 7) mod 8) floordiv 4))> ([[S0]], [[S1]])
// CHECK-NEXT:        scf.for [[I0:%.*]] = [[T0]] to %c2 step %c1 {
// CHECK-NEXT:          [[T1:%.*]] = affine.apply affine_map<(d0, d1, d2) -> ((((d1 * 7) mod 8) floordiv 4))> ([[S0]], [[S1]], [[I0]])
// CHECK-NEXT:          scf.for {{%.*}} = [[T1]] to %c2 step %c1 {
// CHECK:                 vector.load %load_stage
func.func @transposed(%src: memref<18x21xf32>, %dst: memref<18x21xf32, #layout.tag<"ba">>) {
  layout.reorder %src into %dst plan ["threads 1",
    "copy 0 -> 0: 21x(1, 18) 18x(21, 1), elements of 4, vectors of 16, any shuffles, tile 4x4, lanes 0:4 -> 1:4, macro 8x8, outer 0 1, inner 0 1, normal stores, staged loads"]
    : memref<18x21xf32> into memref<18x21xf32, #layout.tag<"ba">>
  func.return
}

// All tiles leave a buffer of the destination, and those that do not fill a macro tile are loaded from rows in common.
// CHECK-LABEL: func.func @through_a_buffer(
// CHECK-NOT:     %first
func.func @through_a_buffer(%src: memref<70x21xf32>, %dst: memref<70x21xf32, #layout.tag<"ba">>) {
  layout.reorder %src into %dst plan ["threads 1",
    "copy 0 -> 0: 21x(1, 70) 70x(21, 1), elements of 4, vectors of 16, any shuffles, tile 4x4, lanes 0:4 -> 1:4, macro 8x64, outer 0 1, inner 0 1, staged stores, staged loads"]
    : memref<70x21xf32> into memref<70x21xf32, #layout.tag<"ba">>
  layout.reorder %src into %dst plan ["threads 1",
    "copy 0 -> 0: 21x(1, 70) 70x(21, 1), elements of 4, vectors of 16, any shuffles, tile 4x4, lanes 0:4 -> 1:4, macro 6x6, outer 0 1, inner 0 1, normal stores, staged loads"]
    : memref<70x21xf32> into memref<70x21xf32, #layout.tag<"ba">>
  func.return
}
