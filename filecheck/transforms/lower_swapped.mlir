// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | filecheck %s
// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | layoutc-opt | filecheck %s
// RUN: layoutc-opt -p "resolve-layouts,plan-reorders{target=sse2}" %s | filecheck %s --check-prefix=PLAN

// Two rows of elements of 4 bits lie in registers of their own: the high half of each byte of the first, and the low one
// of that of the second, are swapped. Then both are bytes of columns, which move as such.
// CHECK-LABEL: func.func @rows(
// CHECK-DAG:     [[LOW:%.*]] = arith.constant dense<3855> : vector<8xi16>
// CHECK-DAG:     [[FOUR:%.*]] = arith.constant dense<4> : vector<8xi16>
// CHECK-DAG:     [[HIGH:%.*]] = arith.constant dense<-3856> : vector<8xi16>
// CHECK:         [[R0:%.*]] = vector.load %src[%src_offset] : memref<512xi8>, vector<16xi8>
// CHECK:         [[R1:%.*]] = vector.load %src[%{{.*}}] : memref<512xi8>, vector<16xi8>
// CHECK-NEXT:    [[W0:%.*]] = vector.bitcast [[R0]] : vector<16xi8> to vector<8xi16>
// CHECK-NEXT:    [[W1:%.*]] = vector.bitcast [[R1]] : vector<16xi8> to vector<8xi16>
// CHECK-NEXT:    [[A:%.*]] = arith.andi [[W0]], [[LOW]] : vector<8xi16>
// CHECK-NEXT:    [[UP:%.*]] = arith.shli [[W1]], [[FOUR]] : vector<8xi16>
// CHECK-NEXT:    [[B:%.*]] = arith.andi [[UP]], [[HIGH]] : vector<8xi16>
// CHECK-NEXT:    %swapped = arith.ori [[A]], [[B]] : vector<8xi16>
// CHECK-NEXT:    [[DOWN:%.*]] = arith.shrui [[W0]], [[FOUR]] : vector<8xi16>
// CHECK-NEXT:    [[C:%.*]] = arith.andi [[DOWN]], [[LOW]] : vector<8xi16>
// CHECK-NEXT:    [[D:%.*]] = arith.andi [[W1]], [[HIGH]] : vector<8xi16>
// CHECK-NEXT:    %{{.*}} = arith.ori [[C]], [[D]] : vector<8xi16>
// CHECK:         vector.shuffle
// CHECK:         vector.store
// PLAN-LABEL: func.func @rows(
// PLAN:         "copy 0 -> 0: 16x(1, 32) swapped 2x(16, 16) 16x(32, 1), elements of 1, vectors of 16,
func.func @rows(%src: memref<32x32xi4>, %dst: memref<32x32xi4, #layout.tag<"ba">>) {
  layout.reorder %src into %dst plan ["threads 1",
    "copy 0 -> 0: 16x(1, 32) swapped 2x(16, 16) 16x(32, 1), elements of 1, vectors of 16, unpack shuffles, tile 16x2x8, lanes 0:16 -> 2:8, macro 16x2x16, outer 0 1 2, inner 0 1 2, normal stores"]
    : memref<32x32xi4> into memref<32x32xi4, #layout.tag<"ba">>
  func.return
}

// Two rows of 3 elements of 4 bits are 3 bytes: the box moves these, and registers swap before they are stored. Of the
// bytes of the destination the first has the low half of the first byte, and the high half of the second one.
// CHECK-LABEL: func.func @short_rows(
// CHECK:         [[X0:%.*]] = vector.bitcast [[T0:%.*]] : vector<16xi8> to vector<8xi16>
// CHECK-NEXT:    [[LOW:%.*]] = arith.andi [[X0]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    [[X1:%.*]] = vector.bitcast [[T1:%.*]] : vector<16xi8> to vector<8xi16>
// CHECK-NEXT:    [[HIGH:%.*]] = arith.andi [[X1]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    [[S:%.*]] = arith.ori [[LOW]], [[HIGH]] : vector<8xi16>
// CHECK-NEXT:    [[B0:%.*]] = vector.bitcast [[S]] : vector<8xi16> to vector<16xi8>
// CHECK-NEXT:    [[Y0:%.*]] = vector.bitcast [[T0]] : vector<16xi8> to vector<8xi16>
// CHECK-NEXT:    [[DOWN:%.*]] = arith.shrui [[Y0]], %{{.*}} : vector<8xi16>
// CHECK:         vector.store [[B0]], %dst[%dst_offset]
func.func @short_rows(%src: memref<16x32x3xi4>, %dst: memref<16x32x3xi4, #layout.tag<"acb">>) {
  layout.reorder %src into %dst plan ["threads 1",
    "copy 0 -> 0: 16x(48, 48) swapped 1/2 when stored 3x(1, 16) 16x(3, 1), elements of 1, vectors of 16, any shuffles, tile 1x3x16, merged lanes 1:3 2:16 -> 2:16, macro 16x3x16, outer 0 1 2, inner 0 1 2, normal stores"]
    : memref<16x32x3xi4> into memref<16x32x3xi4, #layout.tag<"acb">>
  func.return
}

// Both rows of a block are in one register, a byte apart: shifts take each of the two where the other one is.
// CHECK-LABEL: func.func @lanes(
// CHECK:         [[R:%.*]] = vector.load %src[%src_offset] : memref<256xi8>, vector<16xi8>
// CHECK-NEXT:    [[W:%.*]] = vector.bitcast [[R]] : vector<16xi8> to vector<8xi16>
// CHECK-NEXT:    [[KEPT:%.*]] = arith.andi [[W]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    [[DOWN:%.*]] = arith.shrui [[W]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    [[A:%.*]] = arith.andi [[DOWN]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    [[UP:%.*]] = arith.shli [[W]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    [[B:%.*]] = arith.andi [[UP]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    [[MOVED:%.*]] = arith.ori [[A]], [[B]] : vector<8xi16>
// CHECK-NEXT:    %swapped = arith.ori [[KEPT]], [[MOVED]] : vector<8xi16>
// PLAN-LABEL: func.func @lanes(
// PLAN:         "copy 0 -> 0: 8x(8, 32) swapped 2x(1, 16) 4x(64, 4) 4x(2, 1), elements of 1, vectors of 16,
func.func @lanes(%src: memref<32x16xi4, #layout.tag<"AB8b8a2b">>, %dst: memref<32x16xi4, #layout.tag<"ba">>) {
  layout.reorder %src into %dst plan ["threads 1",
    "copy 0 -> 0: 8x(8, 32) swapped 2x(1, 16) 4x(64, 4) 4x(2, 1), elements of 1, vectors of 16, unpack shuffles, tile 2x2x4x4, lanes 1:2 3:4 0:2 -> 3:4 2:4, macro 8x2x4x4, outer 0 1 2 3, inner 0 1 2 3, normal stores"]
    : memref<32x16xi4, #layout.tag<"AB8b8a2b">> into memref<32x16xi4, #layout.tag<"ba">>
  func.return
}
