// RUN: layoutc-opt -p outline-reorders %s | filecheck %s
// RUN: layoutc-opt -p resolve-layouts,canonicalize,outline-reorders,plan-reorders{target=generic},lower-reorders -t c %s | filecheck %s --check-prefix=C

// Equal reorders, of whichever functions, become calls of one private function ahead of the first, by a name that is free.
// CHECK-LABEL: func.func private @reorder_2(%src: memref<2x17xf32>, %dst: memref<2x17xf32, #layout.tag<"ba">>) {
// CHECK-NEXT:    layout.reorder %src into %dst : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"ba">>
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func @one(
// CHECK-SAME:    [[A:%[a-z]+]]: memref<2x17xf32>, [[X:%[a-z]+]]: memref<2x17xf32, #layout.tag<"ba">>)
// CHECK-NEXT:    func.call @reorder_2([[A]], [[X]]) : (memref<2x17xf32>, memref<2x17xf32, #layout.tag<"ba">>) -> ()
// C-LABEL: static void reorder_2(const float *restrict src, float *restrict dst) {
// C-LABEL: void one(const float *restrict a, float *restrict x) {
// C-NEXT:    reorder_2(a, x);
// C-NEXT:  }
func.func @one(%a: memref<2x17xf32>, %x: memref<2x17xf32, #layout.tag<"ba">>) {
  layout.reorder %a into %x : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"ba">>
  func.return
}

// Inside of loops too. A reorder that is done otherwise stays where it is.
// CHECK-LABEL: func.func @reorder(
// CHECK-SAME:    [[B:%[a-z]+]]: memref<2x17xf32>, [[Y:%[a-z]+]]: memref<2x17xf32, #layout.tag<"ba">>)
// CHECK:         scf.for
// CHECK-NEXT:      func.call @reorder_2([[B]], [[Y]])
// CHECK:         layout.reorder [[B]] into [[Y]] with (dst_scale = 0.5)
// CHECK-NOT:     func.call
func.func @reorder(%b: memref<2x17xf32>, %y: memref<2x17xf32, #layout.tag<"ba">>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    layout.reorder %b into %y : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"ba">>
  }
  layout.reorder %b into %y with (dst_scale = 0.5) : memref<2x17xf32> into memref<2x17xf32, #layout.tag<"ba">>
  func.return
}

// A memref that is two operands of one reorder is two of the function, as others have two.
// CHECK-LABEL: func.func private @reorder_3(%src: memref<4xf32>, %dst: memref<4xi8>, %dst_scale: memref<4xf32>) {
// CHECK-NEXT:    layout.reorder %src into %dst with (dst_scale = %dst_scale axes [0]) : memref<4xf32> into memref<4xi8>, memref<4xf32>
// CHECK-LABEL: func.func @operands(
// CHECK:         func.call @reorder_3([[V:%[a-z]+]], [[Q:%[a-z]+]], [[V]])
// CHECK-NEXT:    func.call @reorder_3([[V]], [[Q]], [[S:%[a-z]+]])
func.func @operands(%v: memref<4xf32>, %q: memref<4xi8>, %s: memref<4xf32>) {
  layout.reorder %v into %q with (dst_scale = %v axes [0]) : memref<4xf32> into memref<4xi8>, memref<4xf32>
  layout.reorder %v into %q with (dst_scale = %s axes [0]) : memref<4xf32> into memref<4xi8>, memref<4xf32>
  func.return
}

// Values have no memory to hand on.
// CHECK-LABEL: func.func private @values(
// CHECK-NEXT:    layout.reorder
// CHECK-NEXT:    layout.reorder
func.func private @values(%t: tensor<4xf32>, %u: tensor<4xf32>) -> (tensor<4xf32, #layout.tag<"A4a">>, tensor<4xf32, #layout.tag<"A4a">>) {
  %x = layout.reorder %t : tensor<4xf32> to tensor<4xf32, #layout.tag<"A4a">>
  %y = layout.reorder %u : tensor<4xf32> to tensor<4xf32, #layout.tag<"A4a">>
  func.return %x, %y : tensor<4xf32, #layout.tag<"A4a">>, tensor<4xf32, #layout.tag<"A4a">>
}
