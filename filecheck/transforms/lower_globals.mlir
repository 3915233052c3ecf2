// REQUIRES: cc

// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s | filecheck %s
// RUN: layoutc-opt -p resolve-layouts,canonicalize,plan-reorders{target=generic},lower-reorders -t c %s | filecheck %s --check-prefix=C
// RUN: layoutc-opt -p resolve-layouts,lower-reorders %s -t c -o %t.c
// RUN: %cc -O2 -c %t.c -o %t.o

// Values stand in the text in the order of the indices, and in memory where the layout puts them.
// CHECK: "memref.global"() <{sym_name = "transposed", type = memref<6xf32>, initial_value = dense<[1.000000e+00, 4.000000e+00, 2.000000e+00, 5.000000e+00, 3.000000e+00, 6.000000e+00]> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
// C: static const float transposed[6] = {1.0f, 4.0f, 2.0f, 5.0f, 3.0f, 6.0f};
memref.global "private" constant @transposed : memref<2x3xf32, #layout.tag<"ba">> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>

// Block padding is zero, and one value for all elements is not one for the padding.
// CHECK: "memref.global"() <{sym_name = "blocked", type = memref<4xi32>, initial_value = dense<[7, 7, 7, 0]> : tensor<4xi32>
// C: static const int32_t blocked[4] = {7, 7, 7, 0};
memref.global "private" constant @blocked : memref<3xi32, #layout.tag<"A4a">> = dense<7>

// Elements below a byte share one.
// CHECK: "memref.global"() <{sym_name = "packed", type = memref<2xi8>, initial_value = dense<[-14, 3]> : tensor<2xi8>
// C: static const int8_t packed[2] = {-14, 3};
memref.global "private" constant @packed : memref<3xi4> = dense<[2, -1, 3]>

// A memref of memory without values is flat, too.
// CHECK: "memref.global"() <{sym_name = "later", type = memref<4xf32>, initial_value, sym_visibility = "public"}> : () -> ()
memref.global @later : memref<3xf32, #layout.tag<"A4a">> = uninitialized

// CHECK-LABEL: func.func @unpack
// CHECK:         [[W:%.*]] = memref.get_global @transposed : memref<6xf32>
// CHECK:         memref.load [[W]][{{%.*}}] : memref<6xf32>
// CHECK-NOT:   #layout.
// C-LABEL: void unpack(float *restrict dst) {
func.func @unpack(%dst: memref<2x3xf32>) {
  %w = memref.get_global @transposed : memref<2x3xf32, #layout.tag<"ba">>
  layout.reorder %w into %dst : memref<2x3xf32, #layout.tag<"ba">> into memref<2x3xf32>
  func.return
}

func.func @others(%integers: memref<3xi32>, %codes: memref<3xi8>, %i: index) -> i32 {
  %b = memref.get_global @blocked : memref<3xi32, #layout.tag<"A4a">>
  %p = memref.get_global @packed : memref<3xi4>
  layout.reorder %b into %integers : memref<3xi32, #layout.tag<"A4a">> into memref<3xi32>
  layout.reorder %p into %codes : memref<3xi4> into memref<3xi8>
  %v = memref.load %b[%i] : memref<3xi32, #layout.tag<"A4a">>
  func.return %v : i32
}
