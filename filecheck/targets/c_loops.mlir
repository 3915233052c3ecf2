// RUN: layoutc-opt -t c %s | filecheck %s
// RUN: layoutc-opt %s | layoutc-opt -t c | filecheck %s

// A load whose one use follows, with no store between, is written where it is used; offsets keep their names.
// CHECK:       // 4x3xf32
// CHECK-NEXT:  // from ab
// CHECK-NEXT:  void transpose(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    for (int64_t a = 0; a < 4; a++) {
// CHECK-NEXT:      for (int64_t b = 0; b < 3; b++) {
// CHECK-NEXT:        const int64_t src_offset = a * 3 + b;
// CHECK-NEXT:        const int64_t dst_offset = b * 4 + a;
// CHECK-NEXT:        dst[dst_offset] = src[src_offset];
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
func.func @transpose(%src : memref<12xf32>, %dst : memref<12xf32>) attributes {layout.comment = "4x3xf32\nfrom ab \\"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %a = %c0 to %c4 step %c1 {
    scf.for %b = %c0 to %c3 step %c1 {
      %src_offset = affine.apply affine_map<(d0, d1) -> (d0 * 3 + d1)> (%a, %b)
      %value = memref.load %src[%src_offset] : memref<12xf32>
      %dst_offset = affine.apply affine_map<(d0, d1) -> (d1 * 4 + d0)> (%a, %b)
      memref.store %value, %dst[%dst_offset] : memref<12xf32>
    }
  }
  func.return
}

// A load stays above a store that comes between it and its use.
// CHECK-LABEL: void swap(int32_t *restrict buffer) {
// CHECK-NEXT:    const int32_t last = buffer[1];
// CHECK-NEXT:    buffer[1] = buffer[0];
// CHECK-NEXT:    buffer[0] = last;
// CHECK-NEXT:  }
func.func @swap(%buffer : memref<2xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %buffer[%c0] : memref<2xi32>
  %last = memref.load %buffer[%c1] : memref<2xi32>
  memref.store %first, %buffer[%c1] : memref<2xi32>
  memref.store %last, %buffer[%c0] : memref<2xi32>
  func.return
}

// A step other than 1 is added; equal names in nested scopes are numbered, in separate scopes they are not.
// CHECK-LABEL: void scopes(float *restrict x, int64_t n) {
// CHECK-NEXT:    for (int64_t i = 0; i < n; i += 4) {
// CHECK-NEXT:      for (int64_t i_2 = i; i_2 < n; i_2++) {
// CHECK-NEXT:        x[i_2] = 1.0f;
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    for (int64_t i = 0; i < n; i++) {
// CHECK-NEXT:      x[i] = -0.5f;
// CHECK-NEXT:    }
// CHECK-NEXT:  }
func.func @scopes(%x : memref<?xf32>, %n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %half = arith.constant -0.5 : f32
  scf.for %i = %c0 to %n step %c4 {
    scf.for %i_1 = %i to %n step %c1 {
      memref.store %one, %x[%i_1] : memref<?xf32>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %half, %x[%i] : memref<?xf32>
  }
  func.return
}

// Values that go from turn to turn are variables; where one assignment would hide another's operand, a copy is made first.
// CHECK-LABEL: float fibonacci(int64_t n) {
// CHECK-NEXT:    float a = 0.0f;
// CHECK-NEXT:    float b = 1.0f;
// CHECK-NEXT:    for (int64_t i = 0; i < n; i++) {
// CHECK-NEXT:      const float value = a + b;
// CHECK-NEXT:      a = b;
// CHECK-NEXT:      b = value;
// CHECK-NEXT:    }
// CHECK-NEXT:    return a;
// CHECK-NEXT:  }
func.func @fibonacci(%n : index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %sum, %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %one) -> (f32, f32) {
    %0 = arith.addf %a, %b : f32
    scf.yield %b, %0 : f32, f32
  }
  func.return %sum : f32
}

// The results of scf.if are variables that both branches set.
// CHECK-LABEL: int64_t clamp(int64_t n) {
// CHECK-NEXT:    int64_t clamped;
// CHECK-NEXT:    if (n < 0) {
// CHECK-NEXT:      clamped = 0;
// CHECK-NEXT:    } else {
// CHECK-NEXT:      clamped = n;
// CHECK-NEXT:    }
// CHECK-NEXT:    return clamped;
// CHECK-NEXT:  }
func.func @clamp(%n : index) -> index {
  %c0 = arith.constant 0 : index
  %0 = arith.cmpi slt, %n, %c0 : index
  %clamped = scf.if %0 -> (index) {
    scf.yield %c0 : index
  } else {
    scf.yield %n : index
  }
  func.return %clamped : index
}
