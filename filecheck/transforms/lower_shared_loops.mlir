// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | filecheck %s
// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | layoutc-opt | filecheck %s

// A step of the shared loop is 24 bytes of the source, which are 6 elements, 8 of the destination, and one scale. Its
// last turn begins earlier. The fill has elements of 2 bytes, and no scales.
// CHECK-LABEL: func.func @rows(
// CHECK:         scf.for [[I:%.*]] = {{.*}}
// CHECK-NEXT:      [[T:%.*]] = affine.min affine_map<(d0) -> ((d0 * 3), 5)> ([[I]])
// CHECK-NEXT:      scf.for [[A:%.*]] = {{.*}}
// CHECK-NEXT:        [[P:%.*]] = affine.apply affine_map<(d0, d1) -> ((d0 + d1))> ([[T]], [[A]])
// CHECK-NEXT:        memref.load %scales[[[P]]] : memref<8xf32>
// CHECK:             scf.for [[B:%.*]] = {{.*}}
// CHECK-NEXT:          [[K:%.*]] = affine.min affine_map<(d0) -> ((d0 * 4), 2)> ([[B]])
// CHECK-NEXT:          [[S:%.*]] = affine.apply affine_map<(d0, d1, d2) -> ((((d0 * 6) + (d1 * 6)) + d2))> ([[T]], [[A]], [[K]])
// CHECK-NEXT:          [[D:%.*]] = affine.apply affine_map<(d0, d1, d2) -> ((((d0 * 8) + (d1 * 8)) + d2))> ([[T]], [[A]], [[K]])
// CHECK-NEXT:          vector.load %{{.*}}[[[S]]] : memref<48xf32>, vector<4xf32>
// CHECK:               vector.store %{{.*}}, %dst[[[D]]] : memref<64xi8>, vector<4xi8>
// CHECK:           scf.for [[F:%.*]] = {{.*}}
// CHECK-NEXT:        [[Z:%.*]] = affine.apply affine_map<(d0, d1) -> ((((d0 * 8) + (d1 * 8)) + 6))> ([[T]], [[F]])
// CHECK-NEXT:        vector.store %zeros, %dst[[[Z]]] : memref<64xi8>, vector<2xi8>
// CHECK-NOT:     layout.reorder
func.func @rows(%src: memref<8x6xf32>, %dst: memref<8x6xi8, #layout.tag<"aB4b">>, %scales: memref<8xf32>) {
  layout.reorder %src into %dst with (dst_scale = %scales axes [0]) plan ["threads 1",
    "together: 8x(24, 8, 1) by 3, in bytes",
    "  copy 0 -> 0 with 0: 3x(6, 8, 1) 6x(1, 1, 0), elements of 4 to 1, vectors of 32, any shuffles, tile 1x4, lanes 1:4 -> 1:4, macro 3x6, outer 0 1, inner 0 1, normal stores",
    "  fill -> 3: 3x(4, 4), elements of 2, vectors of 32, any shuffles, tile 1, lanes - -> -, macro 1, outer 0, inner 0, normal stores"]
    : memref<8x6xf32> into memref<8x6xi8, #layout.tag<"aB4b">>, memref<8xf32>
  func.return
}

// Where parameters do not depend on the digits of a copy, they are loaded in the shared loops alone.
// CHECK-LABEL: func.func @hoisted(
// CHECK:         scf.for [[I:%.*]] = {{.*}}
// CHECK-NEXT:      memref.load %scales[[[I]]] : memref<8xf32>
// CHECK:           scf.for
// CHECK-NOT:         memref.load %scales
// CHECK:             vector.store
func.func @hoisted(%src: memref<8x6xf32>, %dst: memref<8x6xi8, #layout.tag<"aB4b">>, %scales: memref<8xf32>) {
  layout.reorder %src into %dst with (dst_scale = %scales axes [0]) plan ["threads 1",
    "together: 8x(24, 8, 1) by 1, in bytes",
    "  copy 0 -> 0 with 0: 6x(1, 1, 0), elements of 4 to 1, vectors of 32, any shuffles, tile 4, lanes 0:4 -> 0:4, macro 6, outer 0, inner 0, normal stores",
    "  fill -> 3:, elements of 2, vectors of 32, any shuffles, tile -, lanes - -> -, macro -, outer -, inner -, normal stores"]
    : memref<8x6xf32> into memref<8x6xi8, #layout.tag<"aB4b">>, memref<8xf32>
  func.return
}
