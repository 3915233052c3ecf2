// RUN: layoutc-opt -t c %s | filecheck %s

// What few codes become is a register of words, of which lanes choose by their low bits.
// CHECK:         #if defined(__AVX512BW__) && defined(__AVX512VL__)
// CHECK:         #define word_of_32(codes, table) \
// CHECK:         #if defined(__AVX512VBMI__) || defined(__AVX2__)
// CHECK-NEXT:    __attribute__((unused)) static const u8x64 products_table[1] = {
// CHECK-NEXT:      {
// CHECK-NEXT:          0, 0, 44, 1, 88, 2, 132, 3, 176, 4, 220, 5, 8, 7, 52, 8,
// CHECK:         #if defined(__AVX512BW__) && defined(__AVX512VL__)
// CHECK-NEXT:    #define products(given) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const i8x32 given_in = (given); \
// CHECK-NEXT:        (i16x32)word_of_32(given_in, products_table); \
// CHECK-NEXT:      })
// CHECK-NEXT:    #else
// CHECK-NEXT:    #define products(given) \
// CHECK:         #endif
func.func private @products(%given : vector<32xi8>) -> vector<32xi16> attributes {layout.inlined} {
  %c7 = arith.constant dense<7> : vector<32xi8>
  %c300 = arith.constant dense<300> : vector<32xi16>
  %bits = arith.andi %given, %c7 : vector<32xi8>
  %wide = arith.extui %bits : vector<32xi8> to vector<32xi16>
  %product = arith.muli %wide, %c300 : vector<32xi16>
  func.return %product : vector<32xi16>
}

// Of all bytes lower ones and upper ones have a table each, one behind the other: that of the lower ones repeats itself
// here, as 256 times a byte has no bits there.
// CHECK:         __attribute__((unused)) static const u8x64 upper_table[5] = {
// CHECK:         #if defined(__AVX512VBMI__)
// CHECK-NEXT:    #define upper(given) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const i8x16 given_in = (given); \
// CHECK-NEXT:        const u8x64 codes_ = (u8x64)widened_16(given_in); \
// CHECK-NEXT:        const u8x64 low_ = (u8x64)byte_of_64(codes_, upper_table); \
// CHECK-NEXT:        const u8x64 upper_ = (u8x64)byte_of_256(codes_, upper_table + 1); \
// CHECK-NEXT:        (i16x16)beside_16(low_, upper_); \
// CHECK-NEXT:      })
func.func private @upper(%given : vector<16xi8>) -> vector<16xi16> attributes {layout.inlined} {
  %c8 = arith.constant dense<8> : vector<16xi16>
  %wide = arith.extui %given : vector<16xi8> to vector<16xi16>
  %moved = arith.shli %wide, %c8 : vector<16xi16>
  func.return %moved : vector<16xi16>
}

// Sixteen words of few codes are two registers of bytes where processors choose from rows of 16 bytes.
// CHECK:         #if defined(__AVX512BW__) && defined(__AVX512VL__)
// CHECK-NEXT:    #define halves(given) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const i8x16 given_in = (given); \
// CHECK-NEXT:        (i16x16)word_of_16(given_in, halves_table); \
// CHECK-NEXT:      })
// CHECK-NEXT:    #elif defined(__AVX2__)
// CHECK-NEXT:    #define halves(given) \
// CHECK-NEXT:      __extension__ ({ \
// CHECK-NEXT:        const i8x16 given_in = (given); \
// CHECK-NEXT:        (i16x16)word_in_row_16(given_in, halves_table); \
// CHECK-NEXT:      })
// CHECK-NEXT:    #else
func.func private @halves(%given : vector<16xi8>) -> vector<16xi16> attributes {layout.inlined} {
  %c15 = arith.constant dense<15> : vector<16xi8>
  %c128 = arith.constant dense<128> : vector<16xi16>
  %bits = arith.andi %given, %c15 : vector<16xi8>
  %wide = arith.extui %bits : vector<16xi8> to vector<16xi16>
  %product = arith.muli %wide, %c128 : vector<16xi16>
  func.return %product : vector<16xi16>
}

// As many lanes as registers do not have are computed.
// CHECK-NOT:     lengthy_table
// CHECK:         #define lengthy(given) \
func.func private @lengthy(%given : vector<64xi8>) -> vector<64xi16> attributes {layout.inlined} {
  %wide = arith.extui %given : vector<64xi8> to vector<64xi16>
  func.return %wide : vector<64xi16>
}

// CHECK-LABEL: void calls(
func.func @calls(%source : memref<64xi8>, %target : memref<64xi16>) {
  %c0 = arith.constant 0 : index
  %few = vector.load %source[%c0] : memref<64xi8>, vector<32xi8>
  %product = func.call @products(%few) : (vector<32xi8>) -> vector<32xi16>
  vector.store %product, %target[%c0] : memref<64xi16>, vector<32xi16>
  %one = vector.load %source[%c0] : memref<64xi8>, vector<16xi8>
  %moved = func.call @upper(%one) : (vector<16xi8>) -> vector<16xi16>
  vector.store %moved, %target[%c0] : memref<64xi16>, vector<16xi16>
  %half = func.call @halves(%one) : (vector<16xi8>) -> vector<16xi16>
  vector.store %half, %target[%c0] : memref<64xi16>, vector<16xi16>
  %all = vector.load %source[%c0] : memref<64xi8>, vector<64xi8>
  %all_wide = func.call @lengthy(%all) : (vector<64xi8>) -> vector<64xi16>
  vector.store %all_wide, %target[%c0] : memref<64xi16>, vector<64xi16>
  func.return
}
