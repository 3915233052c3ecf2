// RUN: layoutc-opt -t c %s | filecheck %s
// RUN: layoutc-opt %s | layoutc-opt -t c | filecheck %s

// A file has the vector types that it uses, sorted, and the ways to memory that it takes.
// CHECK:       static inline bool is_aligned(const void *address, uintptr_t size) {
// CHECK:       typedef float f32x4 __attribute__((vector_size(16)));
// CHECK-NEXT:  typedef float f32x4_unaligned __attribute__((vector_size(16), aligned(4), may_alias));
// CHECK-NEXT:  #define load_f32x4(from) (*(const f32x4_unaligned *)(from))
// CHECK-NEXT:  #define load_within_f32x4(from, mask) \
// CHECK-NEXT:    __extension__ ({ \
// CHECK-NEXT:      typedef int lanes_ __attribute__((vector_size(16))); \
// CHECK-NEXT:      const lanes_ kept_ = {-(int)((mask) >> 0 & 1), -(int)((mask) >> 1 & 1), -(int)((mask) >> 2 & 1), \
// CHECK-NEXT:                            -(int)((mask) >> 3 & 1)}; \
// CHECK-NEXT:      (f32x4)((lanes_)load_f32x4(from) & kept_); \
// CHECK-NEXT:    })
// CHECK-NEXT:  #define store_f32x4(to, value) (*(f32x4_unaligned *)(to) = (value))
// CHECK:       static inline void load_first_f32x4(f32x4 *lanes, const float *from, int64_t count) {
// CHECK-NEXT:  #if defined(__AVX512F__) && defined(__AVX512VL__)
// CHECK-NEXT:    typedef int native __attribute__((vector_size(16)));
// CHECK-NEXT:    const uint64_t mask = count > 0 ? UINT64_MAX >> (64 - count) : 0;
// CHECK-NEXT:    *lanes = (f32x4)__builtin_ia32_loaddqusi128_mask((const void *)from, (native)*lanes, (uint8_t)mask);
// CHECK-NEXT:  #else
// CHECK-NEXT:    memcpy(lanes, from, (size_t)count * sizeof(float));
// CHECK-NEXT:  #endif
// CHECK-NEXT:  }
// CHECK:       typedef float f32x8 __attribute__((vector_size(32)));
// CHECK-EMPTY:
// CHECK:       static inline void load_first_f32x8(f32x8 *lanes, const float *from, int64_t count) {
// CHECK-NEXT:  #if defined(__AVX512VL__)
// CHECK-NEXT:    if (__builtin_constant_p(count) && count <= 4) {
// CHECK-NEXT:      typedef long long words __attribute__((vector_size(32)));
// CHECK-NEXT:      typedef long long halves __attribute__((vector_size(16)));
// CHECK-NEXT:      f32x4 low = (f32x4)__builtin_shufflevector((words)*lanes, (words)*lanes, 0, 1);
// CHECK-NEXT:      const halves high = __builtin_shufflevector((words)*lanes, (words)*lanes, 2, 3);
// CHECK-NEXT:      load_first_f32x4(&low, from, count);
// CHECK-NEXT:      *lanes = (f32x8)__builtin_shufflevector((halves)low, high, 0, 1, 2, 3);
// CHECK-NEXT:      return;
// CHECK-NEXT:    }
// CHECK-NEXT:  #endif
// CHECK-NEXT:  #if defined(__AVX512F__) && defined(__AVX512VL__)
// CHECK:       static inline void store_first_f32x8(float *to, const f32x8 *lanes, int64_t count) {
// CHECK-NEXT:  #if defined(__AVX512VL__)
// CHECK-NEXT:    if (__builtin_constant_p(count) && count <= 4) {
// CHECK-NEXT:      typedef long long words __attribute__((vector_size(32)));
// CHECK-NEXT:      f32x4 low = (f32x4)__builtin_shufflevector((words)*lanes, (words)*lanes, 0, 1);
// CHECK-NEXT:      store_first_f32x4(to, &low, count);
// CHECK-NEXT:      return;
// CHECK-NEXT:    }
// CHECK-NEXT:  #endif
// CHECK:       typedef int32_t i32x8 __attribute__((vector_size(32)));
// CHECK-NEXT:  typedef int32_t i32x8_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
// CHECK-NEXT:  #define store_i32x8(to, value) (*(i32x8_unaligned *)(to) = (value))
// CHECK-NEXT:  #define broadcast_i32x8(x) \
// CHECK-NEXT:    ((i32x8){(x), (x), (x), (x), (x), (x), (x), (x)})
// CHECK-EMPTY:
// CHECK-NEXT:  typedef uint16_t u16x16 __attribute__((vector_size(32)));
// CHECK:       // Past the caches, where compiler and processor can: what is stored is not read again soon.
// CHECK-NEXT:  typedef long long bytes_16 __attribute__((vector_size(16), may_alias));
// CHECK-NOT:   typedef

// Loads, shuffles and stores are a line each; what has no name is written where it is used.
// CHECK-LABEL: void interleave(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    const f32x4 r0 = load_f32x4(src);
// CHECK-NEXT:    const f32x4 r1 = load_f32x4(src + 4);
// CHECK-NEXT:    const f32x4 low = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
// CHECK-NEXT:    store_f32x4(dst, low);
// CHECK-NEXT:    store_f32x4(dst + 4, __builtin_shufflevector(r0, r1, 2, 6, 3, 7));
// CHECK-NEXT:  }
func.func @interleave(%src : memref<8xf32>, %dst : memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r0 = vector.load %src[%c0] : memref<8xf32>, vector<4xf32>
  %r1 = vector.load %src[%c4] : memref<8xf32>, vector<4xf32>
  %low = vector.shuffle %r0, %r1 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
  vector.store %low, %dst[%c0, %c0] : memref<2x4xf32>, vector<4xf32>
  %0 = vector.shuffle %r0, %r1 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
  vector.store %0, %dst[%c1, %c0] : memref<2x4xf32>, vector<4xf32>
  func.return
}

// A load stays above a store that comes between it and its use.
// CHECK-LABEL: void swap(float *restrict m) {
// CHECK-NEXT:    const f32x4 value = load_f32x4(m + 4);
// CHECK-NEXT:    store_f32x4(m + 4, load_f32x4(m));
// CHECK-NEXT:    store_f32x4(m, value);
func.func @swap(%m : memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %0 = vector.load %m[%c0] : memref<8xf32>, vector<4xf32>
  %1 = vector.load %m[%c4] : memref<8xf32>, vector<4xf32>
  vector.store %0, %m[%c4] : memref<8xf32>, vector<4xf32>
  vector.store %1, %m[%c0] : memref<8xf32>, vector<4xf32>
  func.return
}

// Narrow floats are their bits, and pairs of them are words; zeros stand where they are used, other constants are variables.
// CHECK-LABEL: void words(const uint16_t *restrict src, int32_t *restrict dst, int32_t x) {
// CHECK-NEXT:    const u16x16 pairs = load_u16x16(src);
// CHECK-NEXT:    store_i32x8(dst, (i32x8)pairs);
// CHECK-NEXT:    store_i32x8(dst + 8, (i32x8){0});
// CHECK-NEXT:    const i32x8 steps = {0, 1, 2, 3, 4, 5, 6, -7};
// CHECK-NEXT:    store_i32x8(dst + 16, steps);
// CHECK-NEXT:    store_i32x8(dst + 24, broadcast_i32x8(x));
func.func @words(%src : memref<16xbf16>, %dst : memref<32xi32>, %x : i32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %pairs = vector.load %src[%c0] : memref<16xbf16>, vector<16xbf16>
  %0 = vector.bitcast %pairs : vector<16xbf16> to vector<8xi32>
  vector.store %0, %dst[%c0] : memref<32xi32>, vector<8xi32>
  %zero = arith.constant dense<0> : vector<8xi32>
  vector.store %zero, %dst[%c8] : memref<32xi32>, vector<8xi32>
  %steps = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, -7]> : vector<8xi32>
  vector.store %steps, %dst[%c16] : memref<32xi32>, vector<8xi32>
  %1 = vector.broadcast %x : i32 to vector<8xi32>
  vector.store %1, %dst[%c24] : memref<32xi32>, vector<8xi32>
  func.return
}

// A non-temporal store asks whether its address is aligned: once for the buffer where all offsets are multiples of the
// vector, at the store where that is not known. A prefetch is counted in elements in the IR, and in bytes in C.
// CHECK-LABEL: void stream(const float *restrict src, float *restrict dst, int64_t n) {
// CHECK-NEXT:    const bool dst_is_aligned = is_aligned(dst, 16);
// CHECK-NEXT:    for (int64_t i = 0; i < 64; i += 4) {
// CHECK-NEXT:      prefetch(src + i, 256);
// CHECK-NEXT:      const f32x4 value = load_f32x4(src + i);
// CHECK-NEXT:      stream_f32x4(dst + i, value, dst_is_aligned);
// CHECK-NEXT:      stream_f32x4(dst + n, value, is_aligned(dst + n, 16));
// CHECK-NEXT:    }
// CHECK-NEXT:    stream_fence();
// CHECK-NEXT:  }
func.func @stream(%src : memref<64xf32>, %dst : memref<128xf32>, %n : index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c4 {
    %value = vector.load %src[%i] {layout.prefetch = 64 : i64} : memref<64xf32>, vector<4xf32>
    vector.store %value, %dst[%i] {nontemporal = true} : memref<128xf32>, vector<4xf32>
    vector.store %value, %dst[%n] {nontemporal = true} : memref<128xf32>, vector<4xf32>
  }
  func.return
}

// A mask is the number of its first lanes that are on, or bits where others are; a count that the loop bounds keep in
// range is taken as it is.
// CHECK-LABEL: void masks(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    for (int64_t i = 0; i < 4; i++) {
// CHECK-NEXT:      f32x4 value = (f32x4){0};
// CHECK-NEXT:      load_first_f32x4(&value, src, i);
// CHECK-NEXT:      store_first_f32x4(dst, &value, 3);
// CHECK-NEXT:      store_some_f32x4(dst, &value, 0xau);
// CHECK-NEXT:    }
func.func @masks(%src : memref<4xf32>, %dst : memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %three = arith.constant dense<[true, true, true, false]> : vector<4xi1>
  %odd = arith.constant dense<[false, true, false, true]> : vector<4xi1>
  scf.for %i = %c0 to %c4 step %c1 {
    %some = vector.create_mask %i : vector<4xi1>
    %value = vector.maskedload %src[%c0], %some, %zero : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.maskedstore %dst[%c0], %three, %value : memref<4xf32>, vector<4xi1>, vector<4xf32>
    vector.maskedstore %dst[%c0], %odd, %value : memref<4xf32>, vector<4xi1>, vector<4xf32>
  }
  func.return
}

// Where all lanes lie in the buffer those that a mask leaves out are loaded, and become zero. First lanes are moved by
// themselves, and others keep what is not zero.
// CHECK-LABEL: void within(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:      const f32x4 one = {1.0f, 1.0f, 1.0f, 1.0f};
// CHECK-NEXT:      const f32x4 value = load_within_f32x4(src, 0xdu);
// CHECK-NEXT:      store_f32x4(dst, value);
// CHECK-NEXT:      f32x4 value_2 = (f32x4){0};
// CHECK-NEXT:      load_first_f32x4(&value_2, src, 3);
// CHECK-NEXT:      store_f32x4(dst, value_2);
// CHECK-NEXT:      f32x4 value_3 = one;
// CHECK-NEXT:      load_some_f32x4(&value_3, src, 0xdu);
// CHECK-NEXT:      store_f32x4(dst, value_3);
// CHECK-NEXT:    }
func.func @within(%src : memref<4xf32>, %dst : memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %one = arith.constant dense<1.0> : vector<4xf32>
  %three = arith.constant dense<[true, true, true, false]> : vector<4xi1>
  %gap = arith.constant dense<[true, false, true, true]> : vector<4xi1>
  %value = vector.maskedload %src[%c0], %gap, %zero {layout.within} : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.store %value, %dst[%c0] : memref<4xf32>, vector<4xf32>
  %value_2 = vector.maskedload %src[%c0], %three, %zero {layout.within} : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.store %value_2, %dst[%c0] : memref<4xf32>, vector<4xf32>
  %value_3 = vector.maskedload %src[%c0], %gap, %one {layout.within} : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.store %value_3, %dst[%c0] : memref<4xf32>, vector<4xf32>
  func.return
}

// Few lanes are moved as those of half a vector, or of half of that, where the compiler knows how many they are.
// CHECK-LABEL: void few_lanes(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    f32x8 value = (f32x8){0};
// CHECK-NEXT:    load_first_f32x8(&value, src, 3);
// CHECK-NEXT:    store_first_f32x8(dst, &value, 3);
// CHECK-NEXT:  }
func.func @few_lanes(%src : memref<8xf32>, %dst : memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %three = arith.constant dense<[true, true, true, false, false, false, false, false]> : vector<8xi1>
  %value = vector.maskedload %src[%c0], %three, %zero : memref<8xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.maskedstore %dst[%c0], %three, %value : memref<8xf32>, vector<8xi1>, vector<8xf32>
  func.return
}

// First lanes that are one plain store or two go so to what is too large for the caches.
// CHECK-LABEL: void large(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    const f32x4 [[VALUE:\w+]] = load_f32x4(src);
// CHECK-NEXT:    memcpy(dst + 5, &[[VALUE]], 8);
// CHECK-NEXT:    memcpy(dst + 5 + 2, (const char *)&[[VALUE]] + 8, 4);
// CHECK-NEXT:  }
func.func @large(%src : memref<4xf32>, %dst : memref<4194304xf32>) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %three = arith.constant dense<[true, true, true, false]> : vector<4xi1>
  %value = vector.load %src[%c0] : memref<4xf32>, vector<4xf32>
  vector.maskedstore %dst[%c5], %three, %value : memref<4194304xf32>, vector<4xi1>, vector<4xf32>
  func.return
}

// First lanes that are one plain store go so anywhere.
// CHECK-LABEL: void pair(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    const f32x4 [[VALUE:\w+]] = load_f32x4(src);
// CHECK-NEXT:    memcpy(dst, &[[VALUE]], 8);
// CHECK-NEXT:  }
func.func @pair(%src : memref<4xf32>, %dst : memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %two = arith.constant dense<[true, true, false, false]> : vector<4xi1>
  %value = vector.load %src[%c0] : memref<4xf32>, vector<4xf32>
  vector.maskedstore %dst[%c0], %two, %value : memref<4xf32>, vector<4xi1>, vector<4xf32>
  func.return
}

// A register of 64 bytes that is used twice is loaded once, wherever it has another use.
// CHECK-LABEL: void twice(const double *restrict src, double *restrict dst) {
// CHECK-NEXT:    const f64x8 [[TWICE:\w+]] = load_once_f64x8(src);
// CHECK-NEXT:    store_f64x8(dst, [[TWICE]]);
// CHECK-NEXT:    store_f64x8(dst + 8, [[TWICE]]);
// CHECK-NEXT:    const f64x8 [[SINGLE:\w+]] = load_f64x8(src + 8);
// CHECK-NEXT:    store_f64x8(dst + 16, [[SINGLE]]);
// CHECK-NEXT:  }
func.func @twice(%src : memref<16xf64>, %dst : memref<24xf64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %twice = vector.load %src[%c0] : memref<16xf64>, vector<8xf64>
  vector.store %twice, %dst[%c0] : memref<24xf64>, vector<8xf64>
  vector.store %twice, %dst[%c8] : memref<24xf64>, vector<8xf64>
  %single = vector.load %src[%c8] : memref<16xf64>, vector<8xf64>
  vector.store %single, %dst[%c16] : memref<24xf64>, vector<8xf64>
  func.return
}

// Out of what is too large for the caches the compiler loads as it finds best.
// CHECK-LABEL: void twice_large(const double *restrict src, double *restrict dst) {
// CHECK-NEXT:    const f64x8 [[TWICE:\w+]] = load_f64x8(src);
// CHECK-NEXT:    store_f64x8(dst, [[TWICE]]);
// CHECK-NEXT:    store_f64x8(dst + 8, [[TWICE]]);
// CHECK-NEXT:  }
func.func @twice_large(%src : memref<2097152xf64>, %dst : memref<16xf64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %twice = vector.load %src[%c0] : memref<2097152xf64>, vector<8xf64>
  vector.store %twice, %dst[%c0] : memref<16xf64>, vector<8xf64>
  vector.store %twice, %dst[%c8] : memref<16xf64>, vector<8xf64>
  func.return
}
