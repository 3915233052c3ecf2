// RUN: layoutc-opt -t c %s | filecheck %s

// A function that stands for its text is a macro, whose variables are its own. A product that it gives is stored, and
// needs no rounding of its own.
// CHECK:         #define scaled(given, scale) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const f32x4 given_in = (given); \
// CHECK-NEXT:        const f32x4 scale_in = (scale); \
// CHECK-NEXT:        const f32x4 product_in = given_in * scale_in; \
// CHECK-NEXT:        product_in; \
// CHECK-NEXT:      })
func.func private @scaled(%given : vector<4xf32>, %scale : vector<4xf32>) -> vector<4xf32>
    attributes {layout.inlined} {
  %product = arith.mulf %given, %scale : vector<4xf32>
  func.return %product : vector<4xf32>
}

// A product that goes into a sum is rounded before: the zero that compilers do not know is its caller's.
// CHECK:         #define shifted(given, zero) \
// CHECK:             const f32x4 product_in = unfused_f32x4(given_in * given_in, zero); \
func.func private @shifted(%given : vector<4xf32>) -> vector<4xf32> attributes {layout.inlined} {
  %product = arith.mulf %given, %given : vector<4xf32>
  %sum = arith.addf %product, %given : vector<4xf32>
  func.return %sum : vector<4xf32>
}

// No variable is a parameter, whatever they are called, and the last parameter is the caller's zero.
// CHECK:         #define named(x, x_2, zero_2, zero) \
// CHECK:             const f32x4 x_in = (x); \
// CHECK-NEXT:        const f32x4 x_2_in = (x_2); \
// CHECK-NEXT:        const f32x4 zero_2_in = (zero_2); \
// CHECK-NEXT:        const f32x4 product_in = unfused_f32x4(x_in * x_2_in, zero); \
func.func private @named(%x : vector<4xf32>, %x_in : vector<4xf32>, %zero : vector<4xf32>) -> vector<4xf32>
    attributes {layout.inlined} {
  %product = arith.mulf %x, %x_in : vector<4xf32>
  %sum = arith.addf %product, %zero : vector<4xf32>
  func.return %sum : vector<4xf32>
}

// CHECK-LABEL: void calls(const float *restrict source, float *restrict target) {
// CHECK-NEXT:    const int64_t zero = opaque_zero();
// CHECK-NEXT:    const f32x4 value = load_f32x4(source);
// CHECK-NEXT:    const f32x4 more = scaled(value, value);
// CHECK-NEXT:    const f32x4 most = shifted(more, zero);
// CHECK-NEXT:    const f32x4 all = named(most, most, more, zero);
// CHECK-NEXT:    store_f32x4(target, all);
func.func @calls(%source : memref<4xf32>, %target : memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %value = vector.load %source[%c0] : memref<4xf32>, vector<4xf32>
  %more = func.call @scaled(%value, %value) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %most = func.call @shifted(%more) : (vector<4xf32>) -> vector<4xf32>
  %all = func.call @named(%most, %most, %more) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  vector.store %all, %target[%c0] : memref<4xf32>, vector<4xf32>
  func.return
}
