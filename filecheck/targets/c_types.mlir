// RUN: layoutc-opt -t c %s | filecheck %s

// Floats that C cannot calculate with are their bits; a constant of theirs is too.
// CHECK-LABEL: void bits(const uint16_t *restrict half, uint16_t *restrict brain, uint8_t *restrict eight) {
// CHECK-NEXT:    brain[0] = 0x3f80;
// CHECK-NEXT:    eight[0] = 0;
// CHECK-NEXT:    brain[1] = half[0];
// CHECK-NEXT:  }
func.func @bits(%half : memref<2xf16>, %brain : memref<2xbf16>, %eight : memref<2xf8E4M3FN>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : bf16
  memref.store %one, %brain[%c0] : memref<2xbf16>
  %zero = arith.constant 0 : i8
  %none = arith.bitcast %zero : i8 to f8E4M3FN
  memref.store %none, %eight[%c0] : memref<2xf8E4M3FN>
  %value = memref.load %half[%c0] : memref<2xf16>
  %cast = arith.bitcast %value : f16 to bf16
  memref.store %cast, %brain[%c1] : memref<2xbf16>
  func.return
}

// Unsigned elements are C's unsigned types; a constant arrives through a cast of the same width.
// CHECK-LABEL: void unsigned_elements(uint8_t *restrict bytes, uint64_t *restrict words) {
// CHECK-NEXT:    bytes[0] = 255;
// CHECK-NEXT:    words[0] = 18446744073709551615u;
func.func @unsigned_elements(%bytes : memref<1xui8>, %words : memref<1xui64>) {
  %c0 = arith.constant 0 : index
  %m8 = arith.constant -1 : i8
  %m64 = arith.constant -1 : i64
  %byte = builtin.unrealized_conversion_cast %m8 : i8 to ui8
  memref.store %byte, %bytes[%c0] : memref<1xui8>
  %word = builtin.unrealized_conversion_cast %m64 : i64 to ui64
  memref.store %word, %words[%c0] : memref<1xui64>
  func.return
}

// A boolean is a byte in memory and a bool as a value.
// CHECK-LABEL: void flags(const uint8_t *restrict source, uint8_t *restrict target, bool flag) {
// CHECK-NEXT:    const bool both = source[0] & flag;
func.func @flags(%source : memref<1xi1>, %target : memref<1xi1>, %flag : i1) {
  %c0 = arith.constant 0 : index
  %stored = memref.load %source[%c0] : memref<1xi1>
  %both = arith.andi %stored, %flag : i1
  memref.store %both, %target[%c0] : memref<1xi1>
  func.return
}

// The least integers have no literal of their own type in C; floats are the shortest text that reads back the same.
// CHECK-LABEL: void literals(int64_t *restrict wide, int32_t *restrict narrow, float *restrict f, double *restrict d) {
// CHECK-NEXT:    wide[0] = INT64_MIN;
// CHECK-NEXT:    narrow[0] = INT32_MIN;
// CHECK-NEXT:    f[0] = 0.1f;
// CHECK-NEXT:    f[0] = -__builtin_inff();
// CHECK-NEXT:    d[0] = 0.1;
// CHECK-NEXT:    d[0] = __builtin_nan("");
func.func @literals(%wide : memref<1xi64>, %narrow : memref<1xi32>, %f : memref<1xf32>, %d : memref<1xf64>) {
  %c0 = arith.constant 0 : index
  %least64 = arith.constant -9223372036854775808 : i64
  memref.store %least64, %wide[%c0] : memref<1xi64>
  %least32 = arith.constant -2147483648 : i32
  memref.store %least32, %narrow[%c0] : memref<1xi32>
  %tenth = arith.constant 0.1 : f32
  memref.store %tenth, %f[%c0] : memref<1xf32>
  %infinite = arith.constant 0xFF800000 : f32
  memref.store %infinite, %f[%c0] : memref<1xf32>
  %tenth64 = arith.constant 0.1 : f64
  memref.store %tenth64, %d[%c0] : memref<1xf64>
  %nan = arith.constant 0x7FF8000000000000 : f64
  memref.store %nan, %d[%c0] : memref<1xf64>
  func.return
}

// Integers wrap in the IR; C's signed ones must not, unless the operands are too narrow for it.
// CHECK-LABEL: int32_t wraps(int32_t a, int8_t b) {
// CHECK-NEXT:    const int32_t sum = (int32_t)((uint32_t)a + (uint32_t)a);
// CHECK-NEXT:    const int32_t wide = (int32_t)b;
// CHECK-NEXT:    const int32_t square = wide * wide;
func.func @wraps(%a : i32, %b : i8) -> i32 {
  %sum = arith.addi %a, %a : i32
  %wide = arith.extsi %b : i8 to i32
  %square = arith.muli %wide, %wide : i32
  %both = arith.xori %sum, %square : i32
  func.return %both : i32
}
