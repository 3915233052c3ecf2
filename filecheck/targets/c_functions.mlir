// RUN: layoutc-opt -t c %s | filecheck %s

// What the module declares and what is called above its definition has a prototype; private functions nobody calls are left out.
// CHECK:       int32_t outside(int8_t *restrict arg0);
// CHECK-NEXT:  static void fill(float *restrict target, float value);
// CHECK-NOT:   unused
func.func private @outside(memref<4xi8>) -> i32
func.func private @unused(%x : f32) -> f32 {
  func.return %x : f32
}

// A memref is const unless it is stored to, here or in what it is passed on to; parameters without use are mentioned.
// CHECK-LABEL: void passes_on(const float *restrict source, float *restrict target, int64_t unused_parameter) {
// CHECK-NEXT:    (void)unused_parameter;
// CHECK-NEXT:    fill(target, source[0]);
// CHECK-NEXT:  }
func.func @passes_on(%source : memref<1xf32>, %target : memref<1xf32>, %unused_parameter : index) {
  %c0 = arith.constant 0 : index
  %value = memref.load %source[%c0] : memref<1xf32>
  func.call @fill(%target, %value) : (memref<1xf32>, f32) -> ()
  func.return
}

// CHECK-LABEL: int32_t calls_out(int8_t *restrict bytes) {
// CHECK-NEXT:    const int32_t count = outside(bytes);
// CHECK-NEXT:    return count;
func.func @calls_out(%bytes : memref<4xi8>) -> i32 {
  %count = func.call @outside(%bytes) : (memref<4xi8>) -> i32
  func.return %count : i32
}

// CHECK-LABEL: static void fill(float *restrict target, float value) {
func.func private @fill(%target : memref<1xf32>, %value : f32) {
  %c0 = arith.constant 0 : index
  memref.store %value, %target[%c0] : memref<1xf32>
  func.return
}

// A function that is given one buffer twice makes no promise that its buffers are apart.
// CHECK-LABEL: static void add(const float *a, float *b) {
func.func private @add(%a : memref<1xf32>, %b : memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<1xf32>
  %y = memref.load %b[%c0] : memref<1xf32>
  %0 = arith.addf %x, %y : f32
  memref.store %0, %b[%c0] : memref<1xf32>
  func.return
}
// CHECK-LABEL: void twice(float *restrict x) {
// CHECK-NEXT:    add(x, x);
func.func @twice(%x : memref<1xf32>) {
  func.call @add(%x, %x) : (memref<1xf32>, memref<1xf32>) -> ()
  func.return
}

// Multi-dimensional memrefs are indexed row-major, or by their static strides; casts are the same pointer.
// CHECK-LABEL: void shapes(const double *restrict image, double *restrict target) {
// CHECK-NEXT:    target[9] = image[5];
// CHECK-NEXT:  }
func.func @shapes(%image : memref<2x3xf64>, %target : memref<2x3xf64, strided<[5, 1], offset: 2>>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %value = memref.load %image[%c1, %c2] : memref<2x3xf64>
  memref.store %value, %target[%c1, %c2] : memref<2x3xf64, strided<[5, 1], offset: 2>>
  func.return
}

// Buffers of the function's own: an array, or memory that is asked for and given back.
// CHECK-LABEL: void buffers(float *restrict target) {
// CHECK-NEXT:    _Alignas(64) float local[8];
// CHECK-NEXT:    float *const heap = allocated(malloc(6 * sizeof(float)));
// CHECK-NEXT:    local[0] = 1.0f;
// CHECK-NEXT:    heap[5] = local[0];
// CHECK-NEXT:    target[0] = heap[5];
// CHECK-NEXT:    free(heap);
func.func @buffers(%target : memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1.0 : f32
  %local = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
  %heap = memref.alloc() : memref<2x3xf32>
  %flat = memref.reinterpret_cast %heap to offset: [0], sizes: [6], strides: [1] : memref<2x3xf32> to memref<6xf32>
  memref.store %one, %local[%c0] : memref<8xf32>
  %value = memref.load %local[%c0] : memref<8xf32>
  memref.store %value, %flat[%c5] : memref<6xf32>
  %read = memref.load %heap[%c1, %c2] : memref<2x3xf32>
  memref.store %read, %target[%c0] : memref<1xf32>
  memref.dealloc %heap : memref<2x3xf32>
  func.return
}

// Names that C has for itself are numbered.
// CHECK-LABEL: int64_t names(int64_t int_2, int64_t int64_t_2, int64_t linux_2) {
// CHECK-NEXT:    return int_2 + int64_t_2 + linux_2;
func.func @names(%int : index, %int64_t : index, %linux : index) -> index {
  %0 = arith.addi %int, %int64_t : index
  %1 = arith.addi %0, %linux : index
  func.return %1 : index
}
