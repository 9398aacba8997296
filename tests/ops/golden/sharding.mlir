// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @constrain attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {"b"}]> : tensor<4x4xf32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"a", "b"}]> : tensor<4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4xf32>
  }
}

module @constrain_on_one_device attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>) {
    %0 = stablehlo.constant dense<2.0e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %2 = stablehlo.multiply %arg0, %1 : tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}

module @psum attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%3: tensor<f32>, %4: tensor<f32>):
        %5 = stablehlo.add %3, %4 : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
      sdy.return %2 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
    return %1 : tensor<4x4xf32>
  }
}

module @pmax attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%3: tensor<f32>, %4: tensor<f32>):
        %5 = stablehlo.maximum %3, %4 : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
      sdy.return %2 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
    return %1 : tensor<4x4xf32>
  }
}

module @pmin attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%3: tensor<f32>, %4: tensor<f32>):
        %5 = stablehlo.minimum %3, %4 : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
      sdy.return %2 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
    return %1 : tensor<4x4xf32>
  }
}

module @all_gather attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x8xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
      sdy.return %2 : tensor<2x4xf32>
    } : (tensor<4x4xf32>) -> (tensor<4x8xf32>)
    return %1 : tensor<4x8xf32>
  }
}

module @psum_scatter attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<2x4xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.reduce_scatter"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids, scatter_dimension = 0 : i64}> ({
      ^bb0(%3: tensor<f32>, %4: tensor<f32>):
        %5 = stablehlo.add %3, %4 : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }) : (tensor<2x2xf32>) -> tensor<1x2xf32>
      sdy.return %2 : tensor<1x2xf32>
    } : (tensor<4x4xf32>) -> (tensor<2x4xf32>)
    return %1 : tensor<2x4xf32>
  }
}

module @all_to_all attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<2x8xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.all_to_all"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x2xf32>) -> tensor<1x4xf32>
      sdy.return %2 : tensor<1x4xf32>
    } : (tensor<4x4xf32>) -> (tensor<2x8xf32>)
    return %1 : tensor<2x8xf32>
  }
}

module @ppermute attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
      sdy.return %2 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
    return %1 : tensor<4x4xf32>
  }
}

module @ppermute_of_none attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
      sdy.return %2 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
    return %1 : tensor<4x4xf32>
  }
}

module @axis_index attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>) {
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%0: tensor<2x2xf32>) {
      %2 = stablehlo.partition_id : tensor<ui32>
      %3 = stablehlo.constant dense<2> : tensor<ui32>
      %4 = stablehlo.divide %2, %3 : tensor<ui32>
      %5 = stablehlo.constant dense<2> : tensor<ui32>
      %6 = stablehlo.remainder %4, %5 : tensor<ui32>
      %7 = stablehlo.convert %6 : (tensor<ui32>) -> tensor<i32>
      %8 = stablehlo.convert %7 : (tensor<i32>) -> tensor<f32>
      %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
      %10 = stablehlo.add %0, %9 : tensor<2x2xf32>
      sdy.return %10 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
    return %1 : tensor<4x4xf32>
  }
}

module @manual_region_gradient attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %5:2 = sdy.manual_computation(%arg1, %arg0, %1) in_shardings=[<@mesh, [{"b"}]>, <@mesh, [{"a"}, {"b"}]>, <@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>, <@mesh, [{"b"}]>] manual_axes={"a", "b"} (%2: tensor<2xf32>, %3: tensor<2x2xf32>, %4: tensor<2xf32>) {
      %6 = stablehlo.constant dense<5.0e-01> : tensor<f32>
      %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %8 = stablehlo.multiply %4, %7 : tensor<2xf32>
      %9 = "stablehlo.all_reduce"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%10: tensor<f32>, %11: tensor<f32>):
        %12 = stablehlo.add %10, %11 : tensor<f32>
        stablehlo.return %12 : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      %13 = stablehlo.dot_general %9, %2, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
      %14 = stablehlo.dot_general %9, %3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
      %15 = "stablehlo.all_reduce"(%14) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%16: tensor<f32>, %17: tensor<f32>):
        %18 = stablehlo.add %16, %17 : tensor<f32>
        stablehlo.return %18 : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      sdy.return %13, %15 : tensor<2x2xf32>, tensor<2xf32>
    } : (tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
    return %5#0, %5#1 : tensor<4x4xf32>, tensor<4xf32>
  }
}
