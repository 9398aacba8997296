// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @dynamic_index_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>, %arg1: tensor<i64>) -> (tensor<4xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i64>
    %1 = "stablehlo.dynamic_slice"(%arg0, %0, %arg1) <{slice_sizes = array<i64: 4, 1>}> : (tensor<4x5xf32>, tensor<i64>, tensor<i64>) -> tensor<4x1xf32>
    %2 = stablehlo.reshape %1 : (tensor<4x1xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

module @dynamic_slice attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> (tensor<2x3xf32>) {
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2) <{slice_sizes = array<i64: 2, 3>}> : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

module @dynamic_update_slice attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> (tensor<4x5xf32>) {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3) : (tensor<4x5xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
    return %0 : tensor<4x5xf32>
  }
}

module @one_hot attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x2xi32>) -> (tensor<3x2x4xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.reshape %arg0 : (tensor<3x2xi32>) -> tensor<3x2x1xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<3x2x1xi32>) -> tensor<3x2x4xi32>
    %3 = stablehlo.broadcast_in_dim %0, dims = [2] : (tensor<4xi32>) -> tensor<3x2x4xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<3x2x4xi32>, tensor<3x2x4xi32>) -> tensor<3x2x4xi1>
    %5 = stablehlo.convert %4 : (tensor<3x2x4xi1>) -> tensor<3x2x4xf32>
    return %5 : tensor<3x2x4xf32>
  }
}

module @one_hot_of_300_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xui8>) -> (tensor<2x300xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2xui8>) -> tensor<2xi32>
    %1 = stablehlo.iota dim = 0 : tensor<300xi32>
    %2 = stablehlo.reshape %0 : (tensor<2xi32>) -> tensor<2x1xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x1xi32>) -> tensor<2x300xi32>
    %4 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<300xi32>) -> tensor<2x300xi32>
    %5 = stablehlo.compare EQ, %3, %4, SIGNED : (tensor<2x300xi32>, tensor<2x300xi32>) -> tensor<2x300xi1>
    %6 = stablehlo.convert %5 : (tensor<2x300xi1>) -> tensor<2x300xbf16>
    return %6 : tensor<2x300xbf16>
  }
}

module @scatter_add attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2xi32>, %arg2: tensor<3x2x2xf32>) -> (tensor<5x2xf32>) {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%1: tensor<f32>, %2: tensor<f32>):
      %3 = stablehlo.add %1, %2 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<5x2xf32>, tensor<3x2xi32>, tensor<3x2x2xf32>) -> tensor<5x2xf32>
    return %0 : tensor<5x2xf32>
  }
}

module @scatter_add_along_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x3xf32>, %arg1: tensor<2x2x3xi32>, %arg2: tensor<2x2x3xf32>) -> (tensor<2x5x3xf32>) {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0, 2], scatter_indices_batching_dims = [0, 2], scatter_dims_to_operand_dims = [1], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%1: tensor<f32>, %2: tensor<f32>):
      %3 = stablehlo.add %1, %2 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2x5x3xf32>, tensor<2x2x3xi32>, tensor<2x2x3xf32>) -> tensor<2x5x3xf32>
    return %0 : tensor<2x5x3xf32>
  }
}

module @take attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2xi32>) -> (tensor<3x2x2xf32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<5x2xf32>, tensor<3x2xi32>) -> tensor<3x2x2xf32>
    %1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %2 = stablehlo.constant dense<4> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3x2xi32>
    %4 = stablehlo.compare LE, %arg1, %3, SIGNED : (tensor<3x2xi32>, tensor<3x2xi32>) -> tensor<3x2xi1>
    %5 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<3x2xi32>
    %7 = stablehlo.compare GE, %arg1, %6, SIGNED : (tensor<3x2xi32>, tensor<3x2xi32>) -> tensor<3x2xi1>
    %8 = stablehlo.and %4, %7 : tensor<3x2xi1>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<3x2xi1>) -> tensor<3x2x2xi1>
    %10 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<3x2x2xf32>
    %11 = stablehlo.select %9, %0, %10 : tensor<3x2x2xi1>, tensor<3x2x2xf32>
    return %11 : tensor<3x2x2xf32>
  }
}

module @take_along_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x3xf32>, %arg1: tensor<2x2x3xi32>) -> (tensor<2x2x3xf32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0, 2], start_indices_batching_dims = [0, 2], start_index_map = [1], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x5x3xf32>, tensor<2x2x3xi32>) -> tensor<2x2x3xf32>
    %1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %2 = stablehlo.constant dense<4> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<2x2x3xi32>
    %4 = stablehlo.compare LE, %arg1, %3, SIGNED : (tensor<2x2x3xi32>, tensor<2x2x3xi32>) -> tensor<2x2x3xi1>
    %5 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<2x2x3xi32>
    %7 = stablehlo.compare GE, %arg1, %6, SIGNED : (tensor<2x2x3xi32>, tensor<2x2x3xi32>) -> tensor<2x2x3xi1>
    %8 = stablehlo.and %4, %7 : tensor<2x2x3xi1>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x2x3xi1>) -> tensor<2x2x3xi1>
    %10 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x2x3xf32>
    %11 = stablehlo.select %9, %0, %10 : tensor<2x2x3xi1>, tensor<2x2x3xf32>
    return %11 : tensor<2x2x3xf32>
  }
}

module @take_along_dim_1_clip attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x3xf32>, %arg1: tensor<2x2x3xi32>) -> (tensor<2x2x3xf32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0, 2], start_indices_batching_dims = [0, 2], start_index_map = [1], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x5x3xf32>, tensor<2x2x3xi32>) -> tensor<2x2x3xf32>
    return %0 : tensor<2x2x3xf32>
  }
}

module @take_clip attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2xi32>) -> (tensor<3x2x2xf32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<5x2xf32>, tensor<3x2xi32>) -> tensor<3x2x2xf32>
    return %0 : tensor<3x2x2xf32>
  }
}

module @take_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x3xf32>, %arg1: tensor<3x2xi32>) -> (tensor<2x3x2x3xf32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 3], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 2, 1, 3>}> : (tensor<2x5x3xf32>, tensor<3x2xi32>) -> tensor<2x3x2x3xf32>
    %1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %2 = stablehlo.constant dense<4> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3x2xi32>
    %4 = stablehlo.compare LE, %arg1, %3, SIGNED : (tensor<3x2xi32>, tensor<3x2xi32>) -> tensor<3x2xi1>
    %5 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<3x2xi32>
    %7 = stablehlo.compare GE, %arg1, %6, SIGNED : (tensor<3x2xi32>, tensor<3x2xi32>) -> tensor<3x2xi1>
    %8 = stablehlo.and %4, %7 : tensor<3x2xi1>
    %9 = stablehlo.broadcast_in_dim %8, dims = [1, 2] : (tensor<3x2xi1>) -> tensor<2x3x2x3xi1>
    %10 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x3x2x3xf32>
    %11 = stablehlo.select %9, %0, %10 : tensor<2x3x2x3xi1>, tensor<2x3x2x3xf32>
    return %11 : tensor<2x3x2x3xf32>
  }
}
