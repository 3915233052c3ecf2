// RUN: layoutc-opt -p 'plan-reorders{target=avx512}' %s | filecheck %s --check-prefixes=CHECK,LINES
// RUN: layoutc-opt -p 'plan-reorders{target=avx512 alignment=16}' %s | filecheck %s --check-prefixes=CHECK,ANY
// RUN: not layoutc-opt -p 'plan-reorders{alignment=48}' %s 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: got an alignment of 48 bytes, expected a power of two up to 4096

// Larger than the caches: every store is a whole line, if the destination starts at one; otherwise a buffer makes lines.
// CHECK-LABEL: func.func @transpose(
// LINES: nontemporal stores
// ANY: staged stores
func.func @transpose(%a: memref<4096x4096xf32>, %b: memref<4096x4096xf32, #layout.map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %a into %b : memref<4096x4096xf32> into memref<4096x4096xf32, #layout.map<(d0, d1) -> (d1, d0)>>
  func.return
}
