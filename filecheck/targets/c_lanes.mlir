// RUN: layoutc-opt -t c %s | filecheck %s
// RUN: layoutc-opt %s | layoutc-opt -t c | filecheck %s

// A choice by lanes is a macro that takes its arguments once, above the functions.
// CHECK:       typedef int32_t i32x4 __attribute__((vector_size(16)));
// CHECK:       #define select_f32x4(mask, yes, no) \
// CHECK-NEXT:    __extension__ ({ \
// CHECK-NEXT:      const i32x4 mask_ = (mask); \
// CHECK-NEXT:      const f32x4 yes_ = (yes); \
// CHECK-NEXT:      const f32x4 no_ = (no); \
// CHECK-NEXT:      (f32x4)(((i32x4)yes_ & mask_) | ((i32x4)no_ & ~mask_)); \
// CHECK-NEXT:    })

// The result of a comparison is a mask, with lanes as wide as what was compared; conversions go lane by lane.
// CHECK-LABEL: void clamp(const float *restrict src, int8_t *restrict dst) {
// CHECK-NEXT:    const f32x4 low = {-128.0f, -128.0f, -128.0f, -128.0f};
// CHECK-NEXT:    const f32x4 x = load_f32x4(src);
// CHECK-NEXT:    const i32x4 above = (i32x4)(x > low);
// CHECK-NEXT:    const f32x4 y = round_even_f32x4(select_f32x4(above, x, low));
// CHECK-NEXT:    store_i8x4(dst, resize_i32x4_i8x4(__builtin_convertvector(y, i32x4)));
// CHECK-NEXT:  }
func.func @clamp(%src : memref<4xf32>, %dst : memref<4xi8>) {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<-128.0> : vector<4xf32>
  %x = vector.load %src[%c0] : memref<4xf32>, vector<4xf32>
  %above = arith.cmpf ogt, %x, %low : vector<4xf32>
  %0 = arith.select %above, %x, %low : vector<4xi1>, vector<4xf32>
  %y = math.roundeven %0 : vector<4xf32>
  %1 = arith.fptosi %y : vector<4xf32> to vector<4xi32>
  %2 = arith.trunci %1 : vector<4xi32> to vector<4xi8>
  vector.store %2, %dst[%c0] : memref<4xi8>, vector<4xi8>
  func.return
}

// A product that goes into a sum is kept from being fused with it; one that goes elsewhere is not.
// CHECK-LABEL: void scale(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    const int64_t zero = opaque_zero();
// CHECK-NEXT:    dst[0] = unfused_f32(src[0] * src[1], zero) + src[2];
// CHECK-NEXT:    dst[1] = src[0] * src[1] / src[2];
// CHECK-NEXT:  }
func.func @scale(%src : memref<3xf32>, %dst : memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = memref.load %src[%c0] : memref<3xf32>
  %b = memref.load %src[%c1] : memref<3xf32>
  %c = memref.load %src[%c2] : memref<3xf32>
  %0 = arith.mulf %a, %b : f32
  %1 = arith.addf %0, %c : f32
  memref.store %1, %dst[%c0] : memref<2xf32>
  %d = memref.load %src[%c0] : memref<3xf32>
  %e = memref.load %src[%c1] : memref<3xf32>
  %f = memref.load %src[%c2] : memref<3xf32>
  %2 = arith.mulf %d, %e : f32
  %3 = arith.divf %2, %f : f32
  memref.store %3, %dst[%c1] : memref<2xf32>
  func.return
}

// f16 widens and narrows by the processor's instructions where it has them.
// CHECK-LABEL: void halves(const uint16_t *restrict src, float *restrict dst) {
// CHECK-NEXT:    store_f32x8(dst, widen_f16_f32x8(load_u16x8(src)));
// CHECK-NEXT:  }
func.func @halves(%src : memref<8xf16>, %dst : memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %0 = vector.load %src[%c0] : memref<8xf16>, vector<8xf16>
  %1 = arith.extf %0 : vector<8xf16> to vector<8xf32>
  vector.store %1, %dst[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}

// The numbers of f4_e2m1 are looked up, by a macro whose variables are none of the function's; they are no products.
// CHECK-LABEL: void numbers(const int8_t *restrict src, float *restrict dst) {
// CHECK-NEXT:    const i8x16 code = load_i8x16(src);
// CHECK-NEXT:    const f32x16 y = number_of_f4_e2m1(resize_u8x16_u32x16((u8x16)code));
// CHECK-NEXT:    store_f32x16(dst, y + y);
// CHECK-NEXT:  }
func.func @numbers(%src : memref<16xi8>, %dst : memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant dense<3> : vector<16xi16>
  %c12 = arith.constant dense<12> : vector<16xi16>
  %bits = arith.constant dense<-29184> : vector<16xi16>
  %scale = arith.constant dense<16384.0> : vector<16xf32>
  %code = vector.load %src[%c0] : memref<16xi8>, vector<16xi8>
  %0 = arith.extui %code : vector<16xi8> to vector<16xi16>
  %1 = arith.shli %0, %c12 : vector<16xi16>
  %2 = arith.shrsi %1, %c3 : vector<16xi16>
  %3 = arith.andi %2, %bits : vector<16xi16>
  %4 = arith.bitcast %3 : vector<16xi16> to vector<16xf16>
  %5 = arith.extf %4 : vector<16xf16> to vector<16xf32>
  %y = arith.mulf %5, %scale : vector<16xf32>
  %6 = arith.addf %y, %y : vector<16xf32>
  vector.store %6, %dst[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}
