// RUN: layoutc-opt -p lower-reorders %s | filecheck %s
// RUN: layoutc-opt -p lower-reorders %s | layoutc-opt | filecheck %s

// To integers: NaN is 0, then clamped to the range, then rounded half to even.
// CHECK-LABEL: func.func @to_s8(
// CHECK:         [[V:%.*]] = memref.load %{{.*}}[[[O:%.*]]] : memref<6xf32>
// CHECK-NEXT:    [[N:%.*]] = arith.cmpf uno, [[V]], [[V]] : f32
// CHECK-NEXT:    [[A:%.*]] = arith.select [[N]], %{{.*}}, [[V]] : f32
// CHECK-NEXT:    [[G:%.*]] = arith.cmpf ogt, [[A]], [[LOW:%.*]] : f32
// CHECK-NEXT:    [[B:%.*]] = arith.select [[G]], [[A]], [[LOW]] : f32
// CHECK-NEXT:    [[L:%.*]] = arith.cmpf olt, [[B]], [[HIGH:%.*]] : f32
// CHECK-NEXT:    [[C:%.*]] = arith.select [[L]], [[B]], [[HIGH]] : f32
// CHECK-NEXT:    [[W:%.*]] = math.roundeven [[C]] : f32
// CHECK-NEXT:    [[I:%.*]] = arith.fptosi [[W]] : f32 to i32
// CHECK-NEXT:    [[R:%.*]] = arith.trunci [[I]] : i32 to i8
// CHECK-NEXT:    memref.store [[R]], %{{.*}} : memref<6xi8>
// CHECK-NOT:     layout.reorder
func.func @to_s8(%a: memref<2x3xf32>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xi8>
  func.return
}

// Between floats that the processor knows, one op.
// CHECK-LABEL: func.func @to_f16(
// CHECK:         [[V:%.*]] = memref.load
// CHECK-NEXT:    [[R:%.*]] = arith.truncf [[V]] : f32 to f16
// CHECK-NEXT:    memref.store [[R]]
func.func @to_f16(%a: memref<2x3xf32>, %b: memref<2x3xf16>) {
  layout.reorder %a into %b : memref<2x3xf32> into memref<2x3xf16>
  func.return
}

// From integer to integer without a float: clamped where the range is smaller. Unsigned ones are signless to arith.
// CHECK-LABEL: func.func @between_integers(
// CHECK:         [[V:%.*]] = memref.load
// CHECK-NEXT:    [[A:%.*]] = arith.maxsi [[V]], %{{.*}} : i64
// CHECK-NEXT:    [[B:%.*]] = arith.minsi [[A]], %{{.*}} : i64
// CHECK-NEXT:    [[T:%.*]] = arith.trunci [[B]] : i64 to i16
// CHECK-NEXT:    [[U:%.*]] = builtin.unrealized_conversion_cast [[T]] : i16 to ui16
// CHECK-NEXT:    memref.store [[U]]
func.func @between_integers(%a: memref<2x3xi64>, %b: memref<2x3xui16>) {
  layout.reorder %a into %b : memref<2x3xi64> into memref<2x3xui16>
  func.return
}

// The formula, step by step, with a list of constants as a global and values of run time from their memory.
// CHECK:       "memref.global"() <{sym_name = "formula_dst_scale", type = memref<3xf32>, initial_value = dense<[5.000000e-01, 2.500000e-01, 2.000000e+00]>
// CHECK-LABEL: func.func @formula(
// CHECK:         [[D:%.*]] = memref.get_global @formula_dst_scale : memref<3xf32>
// CHECK:         scf.for [[X:%.*]] = {{.*}}
// CHECK-NEXT:      scf.for [[Y:%.*]] = {{.*}}
// CHECK:           [[OLD:%.*]] = memref.load %b_flat[[[P:%.*]]]
// CHECK-NEXT:      [[V:%.*]] = memref.load %a_flat[[[Q0:%.*]]]
// CHECK-NEXT:      [[S:%.*]] = memref.load %s[[[X]]] : memref<2xf32>
// CHECK-NEXT:      [[Q:%.*]] = memref.load [[D]][[[Y]]] : memref<3xf32>
// CHECK-NEXT:      [[M:%.*]] = arith.mulf [[V]], [[S]] : f32
// CHECK-NEXT:      [[B:%.*]] = arith.mulf [[OLD]], %{{.*}} : f32
// CHECK-NEXT:      [[T:%.*]] = arith.addf [[M]], [[B]] : f32
// CHECK-NEXT:      [[F:%.*]] = arith.divf [[T]], [[Q]] : f32
// CHECK-NEXT:      [[N:%.*]] = arith.cmpf uno, [[F]], [[F]] : f32
// CHECK-NEXT:      [[R:%.*]] = arith.select [[N]], %{{.*}}, [[F]] : f32
// CHECK-NEXT:      memref.store [[R]], %b_flat[[[P]]]
func.func @formula(%a: memref<2x3xf32>, %b: memref<2x3xf32>, %s: memref<2xf32>) {
  layout.reorder %a into %b with (src_scale = %s axes [0], dst_scale = [0.5, 0.25, 2.0] axes [1], sum = 0.5) axes ["x", "y"] : memref<2x3xf32> into memref<2x3xf32>, memref<2xf32>
  func.return
}

// Elements that share a byte: each byte is gathered and stored once. What is left of the last byte stays.
// CHECK-LABEL: func.func @to_s4(
// CHECK-SAME:    %b: memref<2xi8>
// CHECK:         scf.for [[B:%.*]] = {{.*}}
// CHECK:           [[PACKED:%.*]] = arith.ori
// CHECK-NEXT:      [[WHOLE:%.*]] = arith.cmpi eq, [[KEEP:%.*]], %{{.*}} : i8
// CHECK-NEXT:      scf.if [[WHOLE]] {
// CHECK-NEXT:        memref.store [[PACKED]], %b[[[B]]] : memref<2xi8>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        [[OLD:%.*]] = memref.load %b[[[B]]] : memref<2xi8>
// CHECK-NEXT:        [[K:%.*]] = arith.andi [[OLD]], [[KEEP]] : i8
// CHECK-NEXT:        [[M:%.*]] = arith.ori [[K]], [[PACKED]] : i8
// CHECK-NEXT:        memref.store [[M]], %b[[[B]]] : memref<2xi8>
func.func @to_s4(%a: memref<3xi8>, %b: memref<3xi4>) {
  layout.reorder %a into %b : memref<3xi8> into memref<3xi4>
  func.return
}

// The sums of a compensation are added up in a loop that carries them.
// CHECK-LABEL: func.func @sums(
// CHECK:         memref.store %value, %b_flat
// CHECK:         scf.for [[O:%.*]] = {{.*}}
// CHECK-NEXT:      [[T:%.*]] = scf.for [[I:%.*]] = {{.*}} iter_args([[C:%.*]] = %{{.*}}) -> (i32) {
// CHECK-NEXT:        [[AT:%.*]] = affine.apply affine_map<(d0, d1) -> (((d0 * 3) + d1))> ([[O]], [[I]])
// CHECK-NEXT:        [[W:%.*]] = memref.load %b_flat[[[AT]]]
// CHECK-NEXT:        [[E:%.*]] = arith.extsi [[W]] : i8 to i32
// CHECK-NEXT:        [[A:%.*]] = arith.addi [[C]], [[E]] : i32
// CHECK-NEXT:        scf.yield [[A]] : i32
// CHECK:           [[S:%.*]] = arith.muli [[T]], %{{.*}} : i32
// CHECK-NEXT:      memref.store [[S]], %c[[[O]]] : memref<2xi32>
func.func @sums(%a: memref<2x3xi8>, %b: memref<2x3xi8>, %c: memref<2xi32>) {
  layout.reorder %a into %b with (s8s8 = [0]) sums (%c) : memref<2x3xi8> into memref<2x3xi8>, memref<2xi32>
  func.return
}

// With a plan they are added up by registers, after the copy: neighbours in lanes of 16 bits, those in lanes of 32. What
// the last register has of the one before is masked out, and lanes are folded once all weights of a sum are in.
// CHECK-LABEL: func.func @sums_by_registers(
// CHECK-DAG:     [[EIGHT:%.*]] = arith.constant dense<8> : vector<8xi16>
// CHECK-DAG:     [[MASK:%.*]] = arith.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1]>
// CHECK:         vector.store %{{.*}}, %b_flat[%dst_offset] : memref<80xi8>, vector<16xi8>
// CHECK:         scf.for [[O:%.*]] = %c0 to %c2 step
// CHECK-NEXT:      [[AT:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 40))> ([[O]])
// CHECK-NEXT:      [[A:%.*]] = vector.load %b_flat[[[AT]]] : memref<80xi8>, vector<16xi8>
// CHECK-NEXT:      [[NEXT:%.*]] = arith.addi [[AT]], %c16
// CHECK-NEXT:      [[B:%.*]] = vector.load %b_flat[[[NEXT]]]
// CHECK-NEXT:      [[LAST:%.*]] = arith.addi [[AT]], %c24
// CHECK-NEXT:      [[C:%.*]] = vector.load %b_flat[[[LAST]]]
// CHECK-NEXT:      [[REST:%.*]] = arith.andi [[C]], [[MASK]] : vector<16xi8>
// CHECK-NEXT:      [[PAIRS:%.*]] = vector.bitcast [[A]] : vector<16xi8> to vector<8xi16>
// CHECK-NEXT:      [[UP:%.*]] = arith.shli [[PAIRS]], [[EIGHT]] : vector<8xi16>
// CHECK-NEXT:      [[LOW:%.*]] = arith.shrsi [[UP]], [[EIGHT]] : vector<8xi16>
// CHECK-NEXT:      [[HIGH:%.*]] = arith.shrsi [[PAIRS]], [[EIGHT]] : vector<8xi16>
// CHECK-NEXT:      arith.addi [[LOW]], [[HIGH]] : vector<8xi16>
// CHECK:           vector.bitcast [[REST]]
// CHECK:           [[UPPER:%.*]] = vector.shuffle [[T:%.*]], [[T]] [2, 3] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT:      arith.addi %{{.*}}, [[UPPER]] : vector<2xi32>
// CHECK:           [[S:%.*]] = arith.muli %{{.*}}, %{{.*}} : vector<1xi32>
// CHECK-NEXT:      vector.store [[S]], %c[[[O]]] : memref<2xi32>, vector<1xi32>
func.func @sums_by_registers(%a: memref<2x40xi8>, %b: memref<2x40xi8>, %c: memref<2xi32>) {
  layout.reorder %a into %b with (s8s8 = [0]) sums (%c) plan ["threads 1",
    "copy 0 -> 0: 10x(1, 1), elements of 8, vectors of 16, unpack shuffles, tile 2, lanes 0:2 -> 0:2, macro 10, outer 0, inner 0, normal stores"]
    : memref<2x40xi8> into memref<2x40xi8>, memref<2xi32>
  func.return
}

// Registers that are cut down to their low bits are put side by side by a shuffle that leaves half of the bits, where
// shuffles move lanes as narrow as that half.
// CHECK-LABEL: func.func @side_by_side(
// CHECK:         [[A:%.*]] = arith.minsi %{{.*}} : vector<16xi32>
// CHECK:         [[B:%.*]] = arith.minsi %{{.*}} : vector<16xi32>
// CHECK-NEXT:    [[LOW:%.*]] = vector.bitcast [[A]] : vector<16xi32> to vector<32xi16>
// CHECK-NEXT:    [[HIGH:%.*]] = vector.bitcast [[B]] : vector<16xi32> to vector<32xi16>
// CHECK-NEXT:    [[BOTH:%.*]] = vector.shuffle [[LOW]], [[HIGH]] [0, 2, 4, {{.*}}, 60, 62] : vector<32xi16>, vector<32xi16>
// CHECK-NEXT:    [[CUT:%.*]] = arith.trunci [[BOTH]] : vector<32xi16> to vector<32xi8>
// CHECK-NEXT:    vector.store [[CUT]], %b
func.func @side_by_side(%a: memref<32xi32>, %b: memref<32xi8>) {
  layout.reorder %a into %b plan ["threads 1",
    "copy 0 -> 0: 32x(1, 1), elements of 4 to 1, vectors of 64, words shuffles, tile 32, lanes 0:16 -> 0:32, macro 32, outer 0, inner 0, normal stores"]
    : memref<32xi32> into memref<32xi8>
  func.return
}

// Elements that lie apart are loaded one by one, and converted in the lanes of a vector; those that lie together in the
// destination are stored at once.
// CHECK-LABEL: func.func @apart(
// CHECK:         %zeros = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      [[FROM:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 8))> ([[I:%.*]])
// CHECK-NEXT:      [[TO:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 3))> ([[I]])
// CHECK-NEXT:      [[SECOND:%.*]] = arith.addi [[FROM]], %c2
// CHECK-NEXT:      [[THIRD:%.*]] = arith.addi [[FROM]], %c4
// CHECK-NEXT:      [[A:%.*]] = memref.load %a[[[FROM]]] : memref<13xf32>
// CHECK-NEXT:      [[B:%.*]] = memref.load %a[[[SECOND]]]
// CHECK-NEXT:      [[C:%.*]] = memref.load %a[[[THIRD]]]
// CHECK-NEXT:      [[LA:%.*]] = vector.insert [[A]], %zeros [0] : f32 into vector<4xf32>
// CHECK-NEXT:      [[LB:%.*]] = vector.insert [[B]], [[LA]] [1]
// CHECK-NEXT:      [[LC:%.*]] = vector.insert [[C]], [[LB]] [2]
// CHECK-NEXT:      [[LAST:%.*]] = arith.addi [[TO]], %c2
// CHECK:           [[CODES:%.*]] = arith.trunci %{{.*}} : vector<4xi32> to vector<4xi8>
// CHECK-NEXT:      [[XY:%.*]] = vector.shuffle [[CODES]], [[CODES]] [0, 1] : vector<4xi8>, vector<4xi8>
// CHECK-NEXT:      vector.store [[XY]], %b_flat[[[TO]]] : memref<6xi8>, vector<2xi8>
// CHECK-NEXT:      [[Z:%.*]] = vector.extract [[CODES]][2] : i8 from vector<4xi8>
// CHECK-NEXT:      memref.store [[Z]], %b_flat[[[LAST]]]
// CHECK-NEXT:    }
func.func @apart(%a: memref<2x3xf32, #layout.tag<"ab", strides = [8, 2]>>, %b: memref<2x3xi8>) {
  layout.reorder %a into %b plan ["threads 1",
    "copy 0 -> 0: 2x(8, 3) 3x(2, 1), elements of 4 to 1, vectors of 16, unpack shuffles, tile 1x3, lanes - -> -, macro 2x3, outer 0 1, inner 0 1, normal stores"]
    : memref<2x3xf32, #layout.tag<"ab", strides = [8, 2]>> into memref<2x3xi8>
  func.return
}
