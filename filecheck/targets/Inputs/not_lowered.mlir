func.func @pack(%src: memref<4x4xf32>, %dst: memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) {
  layout.reorder %src into %dst : memref<4x4xf32> into memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>
  func.return
}
