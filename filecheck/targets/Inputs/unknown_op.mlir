func.func @size(%x : memref<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %0 = memref.dim %x, %c0 : memref<?xf32>
  func.return %0 : index
}
