// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @broadcast_in_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xi1>) -> (tensor<2x3x4xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xi1>) -> tensor<2x3x4xi1>
    return %0 : tensor<2x3x4xi1>
  }
}

module @broadcast_to_2_3_4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x4xi1>) -> (tensor<2x3x4xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<1x4xi1>) -> tensor<2x3x4xi1>
    return %0 : tensor<2x3x4xi1>
  }
}

module @concatenate_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>, %arg1: tensor<2x2x4xi1>, %arg2: tensor<2x3x4xi1>) -> (tensor<2x8x4xi1>) {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 1 : (tensor<2x3x4xi1>, tensor<2x2x4xi1>, tensor<2x3x4xi1>) -> tensor<2x8x4xi1>
    return %0 : tensor<2x8x4xi1>
  }
}

module @expand_dims_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x1x3x4xi1>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xi1>) -> tensor<2x1x3x4xi1>
    return %0 : tensor<2x1x3x4xi1>
  }
}

module @expand_dims_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x3x4x1xi1>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xi1>) -> tensor<2x3x4x1xi1>
    return %0 : tensor<2x3x4x1xi1>
  }
}

module @pad_edges attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xi1>, %arg1: tensor<i1>) -> (tensor<3x5xi1>) {
    %0 = stablehlo.pad %arg0, %arg1, low = [1, 0], high = [0, 2], interior = [0, 0] : (tensor<2x3xi1>, tensor<i1>) -> tensor<3x5xi1>
    return %0 : tensor<3x5xi1>
  }
}

module @pad_interior attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xi1>, %arg1: tensor<i1>) -> (tensor<5x6xi1>) {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 1], high = [1, 0], interior = [2, 1] : (tensor<2x3xi1>, tensor<i1>) -> tensor<5x6xi1>
    return %0 : tensor<5x6xi1>
  }
}

module @pad_negative attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xi1>, %arg1: tensor<i1>) -> (tensor<2x6xi1>) {
    %0 = stablehlo.pad %arg0, %arg1, low = [-1, 2], high = [1, -1], interior = [0, 1] : (tensor<2x3xi1>, tensor<i1>) -> tensor<2x6xi1>
    return %0 : tensor<2x6xi1>
  }
}

module @pad_number attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xi1>) -> (tensor<4x3xi1>) {
    %0 = stablehlo.constant dense<false> : tensor<i1>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<2x3xi1>, tensor<i1>) -> tensor<4x3xi1>
    return %1 : tensor<4x3xi1>
  }
}

module @reshape_6_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<6x4xi1>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xi1>) -> tensor<6x4xi1>
    return %0 : tensor<6x4xi1>
  }
}

module @reshape_flat attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<24xi1>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xi1>) -> tensor<24xi1>
    return %0 : tensor<24xi1>
  }
}

module @reverse_0_2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x3x4xi1>) {
    %0 = stablehlo.reverse %arg0, dims = [0, 2] : tensor<2x3x4xi1>
    return %0 : tensor<2x3x4xi1>
  }
}

module @slice_in_dim_from_end attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x2x4xi1>) {
    %0 = stablehlo.slice %arg0 [0:2, 1:3, 0:4] : (tensor<2x3x4xi1>) -> tensor<2x2x4xi1>
    return %0 : tensor<2x2x4xi1>
  }
}

module @slice_nothing attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x0x4xi1>) {
    %0 = stablehlo.slice %arg0 [0:2, 1:1, 0:4] : (tensor<2x3x4xi1>) -> tensor<2x0x4xi1>
    return %0 : tensor<2x0x4xi1>
  }
}

module @slice_strided attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x2x2xi1>) {
    %0 = stablehlo.slice %arg0 [0:2, 1:3, 0:4:3] : (tensor<2x3x4xi1>) -> tensor<2x2x2xi1>
    return %0 : tensor<2x2x2xi1>
  }
}

module @split_3 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x1x4xi1>, tensor<2x1x4xi1>, tensor<2x1x4xi1>) {
    %0 = stablehlo.slice %arg0 [0:2, 0:1, 0:4] : (tensor<2x3x4xi1>) -> tensor<2x1x4xi1>
    %1 = stablehlo.slice %arg0 [0:2, 1:2, 0:4] : (tensor<2x3x4xi1>) -> tensor<2x1x4xi1>
    %2 = stablehlo.slice %arg0 [0:2, 2:3, 0:4] : (tensor<2x3x4xi1>) -> tensor<2x1x4xi1>
    return %0, %1, %2 : tensor<2x1x4xi1>, tensor<2x1x4xi1>, tensor<2x1x4xi1>
  }
}

module @split_sizes attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<2x3x1xi1>, tensor<2x3x3xi1>, tensor<2x3x0xi1>) {
    %0 = stablehlo.slice %arg0 [0:2, 0:3, 0:1] : (tensor<2x3x4xi1>) -> tensor<2x3x1xi1>
    %1 = stablehlo.slice %arg0 [0:2, 0:3, 1:4] : (tensor<2x3x4xi1>) -> tensor<2x3x3xi1>
    %2 = stablehlo.slice %arg0 [0:2, 0:3, 4:4] : (tensor<2x3x4xi1>) -> tensor<2x3x0xi1>
    return %0, %1, %2 : tensor<2x3x1xi1>, tensor<2x3x3xi1>, tensor<2x3x0xi1>
  }
}

module @squeeze_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3x1xi1>) -> (tensor<3xi1>) {
    %0 = stablehlo.reshape %arg0 : (tensor<1x3x1xi1>) -> tensor<3xi1>
    return %0 : tensor<3xi1>
  }
}

module @stack_0 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>, %arg1: tensor<2x3x4xi1>) -> (tensor<2x2x3x4xi1>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xi1>) -> tensor<1x2x3x4xi1>
    %1 = stablehlo.reshape %arg1 : (tensor<2x3x4xi1>) -> tensor<1x2x3x4xi1>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x2x3x4xi1>, tensor<1x2x3x4xi1>) -> tensor<2x2x3x4xi1>
    return %2 : tensor<2x2x3x4xi1>
  }
}

module @stack_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>, %arg1: tensor<2x3x4xi1>) -> (tensor<2x3x4x2xi1>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xi1>) -> tensor<2x3x4x1xi1>
    %1 = stablehlo.reshape %arg1 : (tensor<2x3x4xi1>) -> tensor<2x3x4x1xi1>
    %2 = stablehlo.concatenate %0, %1, dim = 3 : (tensor<2x3x4x1xi1>, tensor<2x3x4x1xi1>) -> tensor<2x3x4x2xi1>
    return %2 : tensor<2x3x4x2xi1>
  }
}

module @swap_dims_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<4x3x2xi1>) {
    %0 = stablehlo.transpose %arg0, dims = [2, 1, 0] : (tensor<2x3x4xi1>) -> tensor<4x3x2xi1>
    return %0 : tensor<4x3x2xi1>
  }
}

module @transpose attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<4x3x2xi1>) {
    %0 = stablehlo.transpose %arg0, dims = [2, 1, 0] : (tensor<2x3x4xi1>) -> tensor<4x3x2xi1>
    return %0 : tensor<4x3x2xi1>
  }
}

module @transpose_201 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xi1>) -> (tensor<4x2x3xi1>) {
    %0 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<2x3x4xi1>) -> tensor<4x2x3xi1>
    return %0 : tensor<4x2x3xi1>
  }
}
