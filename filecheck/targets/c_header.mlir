// REQUIRES: cc
// RUN: layoutc-opt -t c-header %s | filecheck %s
// RUN: layoutc-opt -t c-header %s -o %t.h
// RUN: echo '#include "%t.h"' > %t.c
// RUN: echo '#include "%t.h"' >> %t.c
// RUN: layoutc-opt -t c %s >> %t.c
// RUN: %cc -O2 -c %t.c -o %t.o

// The guard is called as the first function that other files may call. Sizes are of all that a buffer must have.
// CHECK:      #ifndef COPY_H
// CHECK-NEXT: #define COPY_H
// CHECK-EMPTY:
// CHECK-NEXT: #include <stdint.h>
// CHECK-NEXT: #include <stdbool.h>
// CHECK-EMPTY:
// CHECK-NEXT: /* The buffers of a call must not overlap, and have so many bytes. */
// CHECK-NEXT: #define COPY_FROM_BYTES 32
// CHECK-NEXT: #define COPY_TO_BYTES 52
// CHECK-NEXT: #define FLAGS_BITS_BYTES 3
// CHECK-NEXT: #define FLAGS_NONE_BYTES 0
// CHECK-EMPTY:
// CHECK-NEXT: #ifdef __cplusplus
// CHECK-NEXT: extern "C" {
// CHECK-NEXT: #endif
// CHECK-EMPTY:

// No restrict, which C++ has not; const where nothing is stored.
// CHECK-NEXT: void copy(const float *from, float *to);
// CHECK-NEXT: bool flags(const uint8_t *bits, const float *none, int64_t i);
// CHECK-NOT:  outside
// CHECK-NOT:  helper
// CHECK:      #ifdef __cplusplus
// CHECK-NEXT: }
// CHECK-NEXT: #endif
// CHECK-EMPTY:
// CHECK-NEXT: #endif

func.func private @outside(memref<4xi8>) -> i32
func.func private @helper(%value: f32) -> f32 {
  func.return %value : f32
}
func.func @copy(%from: memref<2x4xf32>, %to: memref<2x4xf32, strided<[5, 1], offset: 4>>) {
  %c0 = arith.constant 0 : index
  %value = memref.load %from[%c0, %c0] : memref<2x4xf32>
  %same = func.call @helper(%value) : (f32) -> f32
  memref.store %same, %to[%c0, %c0] : memref<2x4xf32, strided<[5, 1], offset: 4>>
  func.return
}
func.func @flags(%bits: memref<3xi1>, %none: memref<0xf32>, %i: index) -> i1 {
  %bit = memref.load %bits[%i] : memref<3xi1>
  func.return %bit : i1
}
