// RUN: layoutc-opt --allow-unregistered-dialect -p lower-reorders %s --split-input-file --verify-diagnostics | filecheck %s

// The value form has no buffers to loop over; the error says where its text stands.
// CHECK: lower_reorders_invalid.mlir:6:23: layout.reorder on tensors has no buffers yet: bufferize it first
func.func @value_form(%t: tensor<4xf32>) -> tensor<4xf32, #layout.map<(d0) -> (d0 floordiv 8, d0 mod 8)>> {
  %r = layout.reorder %t : tensor<4xf32> to tensor<4xf32, #layout.map<(d0) -> (d0 floordiv 8, d0 mod 8)>>
  func.return %r : tensor<4xf32, #layout.map<(d0) -> (d0 floordiv 8, d0 mod 8)>>
}

// -----

// An op that looks into a memref with a layout would see another shape in the flat buffer.
// CHECK: function 'looks_inside': memref.dim uses memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>: only loads, stores, allocations, calls and reorders of a memref with a layout can be lowered
func.func @looks_inside(%m: memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>, %i: index) -> index {
  %d = "memref.dim"(%m, %i) : (memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>, index) -> index
  func.return %d : index
}

// -----

// A type in an attribute counts too: it would stay behind with its layout.
// CHECK: test.op uses memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>: only loads
"test.op"() {type = memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>} : () -> ()

// -----

// Values that are not those of the memref have no place in its memory.
// CHECK: memref.global @weights: got values of tensor<4x3xf32>, expected of tensor<4x4xf32>
"memref.global"() <{sym_name = "weights", type = memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>, initial_value = dense<1.0> : tensor<4x3xf32>, sym_visibility = "public", constant}> : () -> ()

// -----

// A name with another layout would read the values in another order.
// CHECK: memref.get_global @weights: got memref<2x3xf32, #layout.map<(d0, d1) -> (d1, d0)>>, expected memref<2x3xf32, #layout.map<(d0, d1) -> (d0, d1)>>
memref.global constant @weights : memref<2x3xf32, #layout.map<(d0, d1) -> (d0, d1)>> = dense<1.0>
func.func @mistaken() -> memref<2x3xf32, #layout.map<(d0, d1) -> (d1, d0)>> {
  %w = memref.get_global @weights : memref<2x3xf32, #layout.map<(d0, d1) -> (d1, d0)>>
  func.return %w : memref<2x3xf32, #layout.map<(d0, d1) -> (d1, d0)>>
}

// -----

// Nor have two values for one place.
// CHECK: memref.global @shared: elements of memref<4xf32, #layout.map<(d0) -> (d0), strides = [0]>> share memory, expected a place for each
memref.global constant @shared : memref<4xf32, #layout.map<(d0) -> (d0), strides = [0]>> = dense<1.0>

// -----

// A plan is checked where the text of the op has its own words too: this one leaves a column out.
// CHECK: plan of 4x4xf32, (d0, d1) -> (d0, d1) into 4x4xf32, (d0, d1) -> (d1, d0): line 2: got 'copy 0 -> 0: {{.*}}, elements of 4', expected 'copy 0 -> 0: 4x(1, 4) 4x(4, 1), elements of 4' for this reorder
func.func @wrong_plan(%a: memref<4x4xf32>, %b: memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) {
  "layout.reorder"(%a, %b) <{plan = ["threads 1", "copy 0 -> 0: 4x(1, 4) 3x(4, 1), elements of 4, vectors of 16, unpack shuffles, tile 1x1, lanes - -> -, macro 1x3, outer 0 1, inner 0 1, normal stores"], operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<4x4xf32>, memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) -> ()
  func.return
}

// -----

// An op of a dialect that nobody knows is called by its own name.
// CHECK: function 'unknown': mine.use uses memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>: only loads
func.func @unknown(%m: memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) {
  "mine.use"(%m) : (memref<4x4xf32, #layout.map<(d0, d1) -> (d1, d0)>>) -> ()
  func.return
}
