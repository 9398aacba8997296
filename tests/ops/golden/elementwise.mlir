// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @abs attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.abs %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @add attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @add_number attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<1.5e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<3xbf16>
    %2 = stablehlo.add %arg0, %1 : tensor<3xbf16>
    return %2 : tensor<3xbf16>
  }
}

module @atan2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<9xbf16>, %arg1: tensor<9xbf16>) -> (tensor<9xbf16>) {
    %0 = stablehlo.atan2 %arg0, %arg1 : tensor<9xbf16>
    return %0 : tensor<9xbf16>
  }
}

module @bitcast_to_f32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3xui32>) -> (tensor<1x3xf32>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<1x3xui32>) -> tensor<1x3xf32>
    return %0 : tensor<1x3xf32>
  }
}

module @bitcast_to_u16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xbf16>) -> (tensor<2xui16>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<2xbf16>) -> tensor<2xui16>
    return %0 : tensor<2xui16>
  }
}

module @bitcast_to_u32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3xf32>) -> (tensor<1x3xui32>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<1x3xf32>) -> tensor<1x3xui32>
    return %0 : tensor<1x3xui32>
  }
}

module @bitcast_to_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3xf32>) -> (tensor<1x3x4xui8>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<1x3xf32>) -> tensor<1x3x4xui8>
    return %0 : tensor<1x3x4xui8>
  }
}

module @bitwise_and attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3xi8>, %arg1: tensor<2x1xi8>) -> (tensor<2x3xi8>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x3xi8>) -> tensor<2x3xi8>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<2x1xi8>) -> tensor<2x3xi8>
    %2 = stablehlo.and %0, %1 : tensor<2x3xi8>
    return %2 : tensor<2x3xi8>
  }
}

module @bitwise_not attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xi1>) -> (tensor<2xi1>) {
    %0 = stablehlo.not %arg0 : tensor<2xi1>
    return %0 : tensor<2xi1>
  }
}

module @bitwise_or attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3xi8>, %arg1: tensor<2x1xi8>) -> (tensor<2x3xi8>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x3xi8>) -> tensor<2x3xi8>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<2x1xi8>) -> tensor<2x3xi8>
    %2 = stablehlo.or %0, %1 : tensor<2x3xi8>
    return %2 : tensor<2x3xi8>
  }
}

module @bitwise_xor attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3xi8>, %arg1: tensor<2x1xi8>) -> (tensor<2x3xi8>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x3xi8>) -> tensor<2x3xi8>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<2x1xi8>) -> tensor<2x3xi8>
    %2 = stablehlo.xor %0, %1 : tensor<2x3xi8>
    return %2 : tensor<2x3xi8>
  }
}

module @ceil attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.ceil %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @clamp attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xbf16>, %arg1: tensor<bf16>, %arg2: tensor<bf16>) -> (tensor<8xbf16>) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<bf16>) -> tensor<8xbf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<bf16>) -> tensor<8xbf16>
    %2 = stablehlo.clamp %0, %arg0, %1 : tensor<8xbf16>
    return %2 : tensor<8xbf16>
  }
}

module @clamp_numbers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xbf16>) -> (tensor<8xbf16>) {
    %0 = stablehlo.constant dense<-1.0e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<8xbf16>
    %2 = stablehlo.constant dense<1.5e+00> : tensor<bf16>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<bf16>) -> tensor<8xbf16>
    %4 = stablehlo.clamp %1, %arg0, %3 : tensor<8xbf16>
    return %4 : tensor<8xbf16>
  }
}

module @convert_to_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xbf16>
    return %0 : tensor<7xbf16>
  }
}

module @convert_to_bool attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xi4>) -> (tensor<3xi1>) {
    %0 = stablehlo.convert %arg0 : (tensor<3xi4>) -> tensor<3xi1>
    return %0 : tensor<3xi1>
  }
}

module @convert_to_f16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xf16>
    return %0 : tensor<7xf16>
  }
}

module @convert_to_f32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xf32>) {
    return %arg0 : tensor<7xf32>
  }
}

module @convert_to_f64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xf64>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xf64>
    return %0 : tensor<7xf64>
  }
}

module @convert_to_f8e4m3fn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xf8E4M3FN>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xf8E4M3FN>
    return %0 : tensor<7xf8E4M3FN>
  }
}

module @convert_to_f8e5m2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xf8E5M2>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xf8E5M2>
    return %0 : tensor<7xf8E5M2>
  }
}

module @convert_to_s16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xi16>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xi16>
    return %0 : tensor<7xi16>
  }
}

module @convert_to_s32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xi32>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xi32>
    return %0 : tensor<7xi32>
  }
}

module @convert_to_s4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi32>) -> (tensor<4xi4>) {
    %0 = stablehlo.convert %arg0 : (tensor<4xi32>) -> tensor<4xi4>
    return %0 : tensor<4xi4>
  }
}

module @convert_to_s64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xi64>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xi64>
    return %0 : tensor<7xi64>
  }
}

module @convert_to_s8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf32>) -> (tensor<7xi8>) {
    %0 = stablehlo.convert %arg0 : (tensor<7xf32>) -> tensor<7xi8>
    return %0 : tensor<7xi8>
  }
}

module @convert_to_u16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xui16>) {
    %0 = stablehlo.convert %arg0 : (tensor<5xf32>) -> tensor<5xui16>
    return %0 : tensor<5xui16>
  }
}

module @convert_to_u32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xui32>) {
    %0 = stablehlo.convert %arg0 : (tensor<5xf32>) -> tensor<5xui32>
    return %0 : tensor<5xui32>
  }
}

module @convert_to_u4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi32>) -> (tensor<4xui4>) {
    %0 = stablehlo.convert %arg0 : (tensor<4xi32>) -> tensor<4xui4>
    return %0 : tensor<4xui4>
  }
}

module @convert_to_u64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xui64>) {
    %0 = stablehlo.convert %arg0 : (tensor<5xf32>) -> tensor<5xui64>
    return %0 : tensor<5xui64>
  }
}

module @convert_to_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xui8>) {
    %0 = stablehlo.convert %arg0 : (tensor<5xf32>) -> tensor<5xui8>
    return %0 : tensor<5xui8>
  }
}

module @cos attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.cosine %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @count_leading_zeros attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xi8>) -> (tensor<5xi8>) {
    %0 = stablehlo.count_leading_zeros %arg0 : tensor<5xi8>
    return %0 : tensor<5xi8>
  }
}

module @divide attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.divide %arg0, %arg1 : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @equal attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<49xbf16>, %arg1: tensor<49xbf16>) -> (tensor<49xi1>) {
    %0 = stablehlo.compare EQ, %arg0, %arg1, FLOAT : (tensor<49xbf16>, tensor<49xbf16>) -> tensor<49xi1>
    return %0 : tensor<49xi1>
  }
}

module @erf attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = chlo.erf %arg0 : tensor<1x13xbf16> -> tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @exp attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.exponential %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @expm1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x15xbf16>) -> (tensor<1x15xbf16>) {
    %0 = stablehlo.exponential_minus_one %arg0 : tensor<1x15xbf16>
    return %0 : tensor<1x15xbf16>
  }
}

module @floor attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.floor %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @gelu attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6xbf16>) -> (tensor<6xbf16>) {
    %0 = stablehlo.constant dense<1.4142135623730951e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %2 = stablehlo.multiply %arg0, %1 : tensor<6xbf16>
    %3 = stablehlo.constant dense<2.0e+00> : tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %5 = stablehlo.divide %2, %4 : tensor<6xbf16>
    %6 = chlo.erf %5 : tensor<6xbf16> -> tensor<6xbf16>
    %7 = stablehlo.constant dense<1.0e+00> : tensor<bf16>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %9 = stablehlo.add %8, %6 : tensor<6xbf16>
    %10 = stablehlo.constant dense<5.0e-01> : tensor<bf16>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %12 = stablehlo.multiply %11, %arg0 : tensor<6xbf16>
    %13 = stablehlo.multiply %12, %9 : tensor<6xbf16>
    return %13 : tensor<6xbf16>
  }
}

module @gelu_tanh attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6xbf16>) -> (tensor<6xbf16>) {
    %0 = stablehlo.constant dense<4.4715e-02> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %2 = stablehlo.multiply %1, %arg0 : tensor<6xbf16>
    %3 = stablehlo.multiply %2, %arg0 : tensor<6xbf16>
    %4 = stablehlo.multiply %3, %arg0 : tensor<6xbf16>
    %5 = stablehlo.add %arg0, %4 : tensor<6xbf16>
    %6 = stablehlo.constant dense<7.978845608028654e-01> : tensor<bf16>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %8 = stablehlo.multiply %7, %5 : tensor<6xbf16>
    %9 = stablehlo.tanh %8 : tensor<6xbf16>
    %10 = stablehlo.constant dense<1.0e+00> : tensor<bf16>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %12 = stablehlo.add %11, %9 : tensor<6xbf16>
    %13 = stablehlo.constant dense<5.0e-01> : tensor<bf16>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<bf16>) -> tensor<6xbf16>
    %15 = stablehlo.multiply %14, %arg0 : tensor<6xbf16>
    %16 = stablehlo.multiply %15, %12 : tensor<6xbf16>
    return %16 : tensor<6xbf16>
  }
}

module @greater attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<49xbf16>, %arg1: tensor<49xbf16>) -> (tensor<49xi1>) {
    %0 = stablehlo.compare GT, %arg0, %arg1, FLOAT : (tensor<49xbf16>, tensor<49xbf16>) -> tensor<49xi1>
    return %0 : tensor<49xi1>
  }
}

module @greater_equal attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<49xbf16>, %arg1: tensor<49xbf16>) -> (tensor<49xi1>) {
    %0 = stablehlo.compare GE, %arg0, %arg1, FLOAT : (tensor<49xbf16>, tensor<49xbf16>) -> tensor<49xi1>
    return %0 : tensor<49xi1>
  }
}

module @is_finite attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<18xbf16>) -> (tensor<18xi1>) {
    %0 = stablehlo.is_finite %arg0 : (tensor<18xbf16>) -> tensor<18xi1>
    return %0 : tensor<18xi1>
  }
}

module @less attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<49xbf16>, %arg1: tensor<49xbf16>) -> (tensor<49xi1>) {
    %0 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<49xbf16>, tensor<49xbf16>) -> tensor<49xi1>
    return %0 : tensor<49xi1>
  }
}

module @less_equal attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<49xbf16>, %arg1: tensor<49xbf16>) -> (tensor<49xi1>) {
    %0 = stablehlo.compare LE, %arg0, %arg1, FLOAT : (tensor<49xbf16>, tensor<49xbf16>) -> tensor<49xi1>
    return %0 : tensor<49xi1>
  }
}

module @log attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x9xbf16>) -> (tensor<1x9xbf16>) {
    %0 = stablehlo.log %arg0 : tensor<1x9xbf16>
    return %0 : tensor<1x9xbf16>
  }
}

module @log1p attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x11xbf16>) -> (tensor<1x11xbf16>) {
    %0 = stablehlo.log_plus_one %arg0 : tensor<1x11xbf16>
    return %0 : tensor<1x11xbf16>
  }
}

module @logical_and attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi1>, %arg1: tensor<4xi1>) -> (tensor<4xi1>) {
    %0 = stablehlo.and %arg0, %arg1 : tensor<4xi1>
    return %0 : tensor<4xi1>
  }
}

module @logical_not attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xi1>) -> (tensor<2xi1>) {
    %0 = stablehlo.not %arg0 : tensor<2xi1>
    return %0 : tensor<2xi1>
  }
}

module @logical_or attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi1>, %arg1: tensor<4xi1>) -> (tensor<4xi1>) {
    %0 = stablehlo.or %arg0, %arg1 : tensor<4xi1>
    return %0 : tensor<4xi1>
  }
}

module @logical_xor attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi1>, %arg1: tensor<4xi1>) -> (tensor<4xi1>) {
    %0 = stablehlo.xor %arg0, %arg1 : tensor<4xi1>
    return %0 : tensor<4xi1>
  }
}

module @logistic attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.logistic %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @maximum attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @minimum attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.minimum %arg0, %arg1 : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @multiply attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @neg attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.negate %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @not_equal attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<49xbf16>, %arg1: tensor<49xbf16>) -> (tensor<49xi1>) {
    %0 = stablehlo.compare NE, %arg0, %arg1, FLOAT : (tensor<49xbf16>, tensor<49xbf16>) -> tensor<49xi1>
    return %0 : tensor<49xi1>
  }
}

module @number_minus attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<2.0e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<3xbf16>
    %2 = stablehlo.subtract %1, %arg0 : tensor<3xbf16>
    return %2 : tensor<3xbf16>
  }
}

module @number_over attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<2.0e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<3xbf16>
    %2 = stablehlo.divide %1, %arg0 : tensor<3xbf16>
    return %2 : tensor<3xbf16>
  }
}

module @popcount attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xi8>) -> (tensor<5xi8>) {
    %0 = stablehlo.popcnt %arg0 : tensor<5xi8>
    return %0 : tensor<5xi8>
  }
}

module @pow attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<9xbf16>, %arg1: tensor<9xbf16>) -> (tensor<9xbf16>) {
    %0 = stablehlo.power %arg0, %arg1 : tensor<9xbf16>
    return %0 : tensor<9xbf16>
  }
}

module @pow_2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<3xbf16>
    return %0 : tensor<3xbf16>
  }
}

module @pow_3 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<3.0e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<3xbf16>
    %2 = stablehlo.power %arg0, %1 : tensor<3xbf16>
    return %2 : tensor<3xbf16>
  }
}

module @pow_half attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.sqrt %arg0 : tensor<3xbf16>
    return %0 : tensor<3xbf16>
  }
}

module @pow_minus_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<3xbf16>
    %2 = stablehlo.divide %1, %arg0 : tensor<3xbf16>
    return %2 : tensor<3xbf16>
  }
}

module @pow_minus_half attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.rsqrt %arg0 : tensor<3xbf16>
    return %0 : tensor<3xbf16>
  }
}

module @relu attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<1x13xbf16>
    %2 = stablehlo.compare LE, %arg0, %1, FLOAT : (tensor<1x13xbf16>, tensor<1x13xbf16>) -> tensor<1x13xi1>
    %3 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<bf16>) -> tensor<1x13xbf16>
    %5 = stablehlo.select %2, %4, %arg0 : tensor<1x13xi1>, tensor<1x13xbf16>
    return %5 : tensor<1x13xbf16>
  }
}

module @remainder attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.remainder %arg0, %arg1 : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @round attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @rsqrt attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x9xbf16>) -> (tensor<1x9xbf16>) {
    %0 = stablehlo.rsqrt %arg0 : tensor<1x9xbf16>
    return %0 : tensor<1x9xbf16>
  }
}

module @select attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x1xi1>, %arg1: tensor<3xbf16>, %arg2: tensor<1x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xbf16>) -> tensor<2x3xbf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1] : (tensor<1x3xbf16>) -> tensor<2x3xbf16>
    %3 = stablehlo.select %0, %1, %2 : tensor<2x3xi1>, tensor<2x3xbf16>
    return %3 : tensor<2x3xbf16>
  }
}

module @select_number attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xi1>, %arg1: tensor<3xf32>) -> (tensor<3xf32>) {
    %0 = stablehlo.constant dense<-1.0e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3xi1>, tensor<3xf32>
    return %2 : tensor<3xf32>
  }
}

module @shift_left attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xi8>, %arg1: tensor<7xi8>) -> (tensor<7xi8>) {
    %0 = stablehlo.shift_left %arg0, %arg1 : tensor<7xi8>
    return %0 : tensor<7xi8>
  }
}

module @shift_right_arithmetic attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xi8>, %arg1: tensor<7xi8>) -> (tensor<7xi8>) {
    %0 = stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<7xi8>
    return %0 : tensor<7xi8>
  }
}

module @shift_right_logical attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xi8>, %arg1: tensor<7xi8>) -> (tensor<7xi8>) {
    %0 = stablehlo.shift_right_logical %arg0, %arg1 : tensor<7xi8>
    return %0 : tensor<7xi8>
  }
}

module @sign attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.sign %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @silu attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<13xbf16>) -> (tensor<13xbf16>) {
    %0 = stablehlo.logistic %arg0 : tensor<13xbf16>
    %1 = stablehlo.multiply %arg0, %0 : tensor<13xbf16>
    return %1 : tensor<13xbf16>
  }
}

module @sin attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.sine %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @softplus attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<13xbf16>) -> (tensor<13xbf16>) {
    %0 = stablehlo.abs %arg0 : tensor<13xbf16>
    %1 = stablehlo.negate %0 : tensor<13xbf16>
    %2 = stablehlo.exponential %1 : tensor<13xbf16>
    %3 = stablehlo.log_plus_one %2 : tensor<13xbf16>
    %4 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<bf16>) -> tensor<13xbf16>
    %6 = stablehlo.maximum %arg0, %5 : tensor<13xbf16>
    %7 = stablehlo.add %6, %3 : tensor<13xbf16>
    return %7 : tensor<13xbf16>
  }
}

module @sqrt attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x9xbf16>) -> (tensor<1x9xbf16>) {
    %0 = stablehlo.sqrt %arg0 : tensor<1x9xbf16>
    return %0 : tensor<1x9xbf16>
  }
}

module @square attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}

module @stop_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<18xbf16>) -> (tensor<18xbf16>) {
    return %arg0 : tensor<18xbf16>
  }
}

module @subtract attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>) {
    %0 = stablehlo.subtract %arg0, %arg1 : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @tanh attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x13xbf16>) -> (tensor<1x13xbf16>) {
    %0 = stablehlo.tanh %arg0 : tensor<1x13xbf16>
    return %0 : tensor<1x13xbf16>
  }
}
