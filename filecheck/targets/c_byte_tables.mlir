// RUN: layoutc-opt -t c %s | filecheck %s

// A function of bytes, each lane of its own, is looked up where processors choose bytes from registers: here by the
// low six bits, of which one register has what they become, or by the low four, of which a row has that. Else it is
// computed.
// CHECK:         #if defined(__AVX512VBMI__)
// CHECK:         #define widened_16(x) __builtin_ia32_si512_si(
// CHECK:         #define byte_of_64(codes, table) \
// CHECK:         #if defined(__AVX512VBMI__) || defined(__AVX2__)
// CHECK-NEXT:    __attribute__((unused)) static const u8x64 low_bits_table[1] = {
// CHECK-NEXT:      {
// CHECK-NEXT:          0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14,
// CHECK:         #if defined(__AVX512VBMI__)
// CHECK-NEXT:    #define low_bits(given) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const i8x16 given_in = (given); \
// CHECK-NEXT:        const u64x8 found_ = (u64x8)byte_of_64(widened_16(given_in), low_bits_table); \
// CHECK-NEXT:        (i8x16)__builtin_shufflevector(found_, found_, 0, 1); \
// CHECK-NEXT:      })
// CHECK-NEXT:    #elif defined(__AVX2__)
// CHECK-NEXT:    #define low_bits(given) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const i8x16 given_in = (given); \
// CHECK-NEXT:        typedef char bytes_ __attribute__((vector_size(16))); \
// CHECK-NEXT:        const bytes_ given_ = (bytes_)given_in; \
// CHECK-NEXT:        const bytes_ folded_ = given_ & 15; \
// CHECK-NEXT:        bytes_ code_ = folded_; \
// CHECK-NEXT:        bytes_ found_ = in_row_16(code_, low_bits_table, 0); \
// CHECK-NEXT:        (i8x16)found_; \
// CHECK-NEXT:      })
// CHECK-NEXT:    #else
// CHECK-NEXT:    #define low_bits(given) \
// CHECK:             const i8x16 bits_in = given_in & c7_in; \
// CHECK:         #endif
func.func private @low_bits(%given : vector<16xi8>) -> vector<16xi8> attributes {layout.inlined} {
  %c7 = arith.constant dense<7> : vector<16xi8>
  %bits = arith.andi %given, %c7 : vector<16xi8>
  %sum = arith.addi %bits, %bits : vector<16xi8>
  func.return %sum : vector<16xi8>
}

// The same function of more lanes has the same table.
// CHECK:         #if defined(__AVX512VBMI__)
// CHECK-NEXT:    #define more(given) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const i8x64 given_in = (given); \
// CHECK-NEXT:        (i8x64)byte_of_64(given_in, low_bits_table); \
func.func private @more(%given : vector<64xi8>) -> vector<64xi8> attributes {layout.inlined} {
  %c7 = arith.constant dense<7> : vector<64xi8>
  %bits = arith.andi %given, %c7 : vector<64xi8>
  %sum = arith.addi %bits, %bits : vector<64xi8>
  func.return %sum : vector<64xi8>
}

// Lanes that are made of others have no table.
// CHECK-NOT:     mixed_table
// CHECK:         #define mixed(given) \
func.func private @mixed(%given : vector<16xi8>) -> vector<16xi8> attributes {layout.inlined} {
  %turned = vector.shuffle %given, %given [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14]
    : vector<16xi8>, vector<16xi8>
  %sum = arith.addi %given, %turned : vector<16xi8>
  func.return %sum : vector<16xi8>
}

// CHECK-LABEL: void calls(
// CHECK:         = low_bits({{.*}});
// CHECK:         = mixed({{.*}});
// CHECK:         = more({{.*}});
func.func @calls(%source : memref<64xi8>, %target : memref<64xi8>, %other : memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %value = vector.load %source[%c0] : memref<64xi8>, vector<16xi8>
  %low = func.call @low_bits(%value) : (vector<16xi8>) -> vector<16xi8>
  %mixed = func.call @mixed(%low) : (vector<16xi8>) -> vector<16xi8>
  vector.store %mixed, %target[%c0] : memref<64xi8>, vector<16xi8>
  %all = vector.load %source[%c0] : memref<64xi8>, vector<64xi8>
  %more = func.call @more(%all) : (vector<64xi8>) -> vector<64xi8>
  vector.store %more, %other[%c0] : memref<64xi8>, vector<64xi8>
  func.return
}
