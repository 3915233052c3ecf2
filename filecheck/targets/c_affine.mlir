// RUN: layoutc-opt -t c %s | filecheck %s

// A file has the helpers that it uses, and no other.
// CHECK:     static inline int64_t floor_div(int64_t a, int64_t b) {
// CHECK:     static inline int64_t floor_mod(int64_t a, int64_t b) {
// CHECK-NOT: ceil_div

// Where the loop bounds show that the dividend is never negative, floordiv, mod and ceildiv are `/` and `%`.
// CHECK-LABEL: void natural(
// CHECK-NEXT:    for (int64_t c = 0; c < 17; c++) {
// CHECK-NEXT:      dst[c / 8 * 160 + c % 8 + (c + 2) / 3] = 0.0f;
func.func @natural(%dst : memref<960xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c17 = arith.constant 17 : index
  %zero = arith.constant 0.0 : f32
  scf.for %c = %c0 to %c17 step %c1 {
    %0 = affine.apply affine_map<(d0) -> ((d0 floordiv 8) * 160 + d0 mod 8 + d0 ceildiv 3)> (%c)
    memref.store %zero, %dst[%0] : memref<960xf32>
  }
  func.return
}

// An index of unknown sign is floored by a helper; so is a difference that may be negative.
// CHECK-LABEL: int64_t floored(int64_t n) {
// CHECK-NEXT:    const int64_t digit = floor_mod(n, 8) + floor_div(n - 3, 5);
func.func @floored(%n : index) -> index {
  %digit = affine.apply affine_map<(d0) -> (d0 mod 8 + (d0 - 3) floordiv 5)> (%n)
  func.return %digit : index
}

// A negative term is subtracted, behind one that is not.
// CHECK-LABEL: int64_t reversed(int64_t n) {
// CHECK-NEXT:    return 7 - n - n * 2;
func.func @reversed(%n : index) -> index {
  %0 = affine.apply affine_map<(d0) -> (d0 * -1 + d0 * -2 + 7)> (%n)
  func.return %0 : index
}

// Parentheses stand where C needs them, and nowhere else.
// CHECK-LABEL: int64_t parentheses(int64_t a) {
// CHECK:         const int64_t digits = (b + 3) / 4 * 5 + (b / 2 % 3 + 1) % 7 - (b + 2) / 3 % 2 * 9;
func.func @parentheses(%a : index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %b = %c0 to %a step %c1 iter_args(%sum = %c0) -> (index) {
    %digits = affine.apply affine_map<(d0)[s0] -> (((s0 + 3) floordiv 4) * 5 + ((d0 floordiv 2) mod 3 + 1) mod 7 + ((d0 ceildiv 3) mod 2) * -9)> (%b)[%b]
    %0 = arith.addi %sum, %digits : index
    scf.yield %0 : index
  }
  func.return %sum : index
}

// An operand that the map does not look at needs no text, whatever makes it.
// CHECK-LABEL: int64_t unmentioned(int64_t n) {
// CHECK-NEXT:    return n * 3;
func.func @unmentioned(%n : index) -> index {
  %c0 = arith.constant 0 : index
  %sum = arith.addi %n, %c0 : index
  %0 = affine.apply affine_map<(d0, d1, d2) -> (d2 * 3)> (%c0, %sum, %n)
  func.return %0 : index
}

// Constants are put into the map, and folded.
// CHECK-LABEL: int64_t folded(int64_t n) {
// CHECK-NEXT:    return n * 3 + 25;
func.func @folded(%n : index) -> index {
  %c5 = arith.constant 5 : index
  %0 = affine.apply affine_map<(d0)[s0] -> (d0 * 3 + s0 * 5)> (%n)[%c5]
  func.return %0 : index
}
