// RUN: layoutc-opt -t c %s | filecheck %s
// RUN: layoutc-opt %s | layoutc-opt -t c | filecheck %s

// Compilers without OpenMP take the loops as they are, and say nothing.
// CHECK:       #ifndef _OPENMP
// CHECK-NEXT:  #pragma GCC diagnostic ignored "-Wunknown-pragmas"
// CHECK-NEXT:  #endif

// All indices are one loop for OpenMP; a buffer inside belongs to one iteration.
// CHECK-LABEL: void two_loops(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    #pragma omp parallel for collapse(2) num_threads(3)
// CHECK-NEXT:    for (int64_t a = 0; a < 4; a++) {
// CHECK-NEXT:      for (int64_t b = 0; b < 8; b += 2) {
// CHECK-NEXT:        _Alignas(64) float stage[2];
// CHECK-NEXT:        const int64_t src_offset = a * 8 + b;
// CHECK-NEXT:        stage[0] = src[src_offset];
// CHECK-NEXT:        dst[src_offset] = stage[0];
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
func.func @two_loops(%src : memref<32xf32>, %dst : memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  "scf.parallel"(%c0, %c0, %c4, %c8, %c1, %c2) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%a : index, %b : index):
    %stage = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
    %src_offset = affine.apply affine_map<(d0, d1) -> (d0 * 8 + d1)> (%a, %b)
    %value = memref.load %src[%src_offset] : memref<32xf32>
    memref.store %value, %stage[%c0] : memref<2xf32>
    %staged = memref.load %stage[%c0] : memref<2xf32>
    memref.store %staged, %dst[%src_offset] : memref<32xf32>
    scf.reduce
  }) {layout.threads = 3 : i64} : (index, index, index, index, index, index) -> ()
  func.return
}

// Each thread orders its own stores past the caches, once, at its end.
// CHECK-LABEL: void streamed(const float *restrict src, float *restrict dst) {
// CHECK-NEXT:    const bool dst_is_aligned = is_aligned(dst, 16);
// CHECK-NEXT:    #pragma omp parallel
// CHECK-NEXT:    {
// CHECK-NEXT:      #pragma omp for nowait
// CHECK-NEXT:      for (int64_t tile = 0; tile < 16; tile++) {
// CHECK-NEXT:        const int64_t start = min_signed(tile * 4, 56);
// CHECK-NEXT:        const f32x4 value = load_f32x4(src + start);
// CHECK-NEXT:        stream_f32x4(dst + start, value, dst_is_aligned);
// CHECK-NEXT:      }
// CHECK-NEXT:      stream_fence();
// CHECK-NEXT:    }
// CHECK-NEXT:  }
func.func @streamed(%src : memref<64xf32>, %dst : memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  "scf.parallel"(%c0, %c16, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%tile : index):
    %start = affine.min affine_map<(d0) -> (d0 * 4, 56)> (%tile)
    %value = vector.load %src[%start] : memref<64xf32>, vector<4xf32>
    vector.store %value, %dst[%start] {nontemporal = true} : memref<64xf32>, vector<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A copy of a whole buffer is memcpy.
// CHECK-LABEL: void copy(const double *restrict src, double *restrict dst) {
// CHECK-NEXT:    memcpy(dst, src, 12 * sizeof(double));
func.func @copy(%src : memref<3x4xf64>, %dst : memref<3x4xf64>) {
  "memref.copy"(%src, %dst) : (memref<3x4xf64>, memref<3x4xf64>) -> ()
  func.return
}
