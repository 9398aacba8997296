// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @constant_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xbf16>) {
    %0 = stablehlo.constant dense<[[0.0e+00, 1.0e+00, 1.0e+00], [1.0e+00, 0.0e+00, 0.0e+00]]> : tensor<2x3xbf16>
    return %0 : tensor<2x3xbf16>
  }
}

module @constant_bool attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi1>) {
    %0 = stablehlo.constant dense<[[false, true, true], [true, false, false]]> : tensor<2x3xi1>
    return %0 : tensor<2x3xi1>
  }
}

module @constant_f16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf16>) {
    %0 = stablehlo.constant dense<[[0.0e+00, 1.0e+00, 1.0e+00], [1.0e+00, 0.0e+00, 0.0e+00]]> : tensor<2x3xf16>
    return %0 : tensor<2x3xf16>
  }
}

module @constant_f32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<[[0.0e+00, 1.0e+00, 1.0e+00], [1.0e+00, 0.0e+00, 0.0e+00]]> : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

module @constant_f64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf64>) {
    %0 = stablehlo.constant dense<[[0.0e+00, 1.0e+00, 1.0e+00], [1.0e+00, 0.0e+00, 0.0e+00]]> : tensor<2x3xf64>
    return %0 : tensor<2x3xf64>
  }
}

module @constant_f8e4m3fn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf8E4M3FN>) {
    %0 = stablehlo.constant dense<[[0.0e+00, 1.0e+00, 1.0e+00], [1.0e+00, 0.0e+00, 0.0e+00]]> : tensor<2x3xf8E4M3FN>
    return %0 : tensor<2x3xf8E4M3FN>
  }
}

module @constant_f8e5m2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf8E5M2>) {
    %0 = stablehlo.constant dense<[[0.0e+00, 1.0e+00, 1.0e+00], [1.0e+00, 0.0e+00, 0.0e+00]]> : tensor<2x3xf8E5M2>
    return %0 : tensor<2x3xf8E5M2>
  }
}

module @constant_s16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi16>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xi16>
    return %0 : tensor<2x3xi16>
  }
}

module @constant_s32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi32>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xi32>
    return %0 : tensor<2x3xi32>
  }
}

module @constant_s4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi4>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xi4>
    return %0 : tensor<2x3xi4>
  }
}

module @constant_s64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi64>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xi64>
    return %0 : tensor<2x3xi64>
  }
}

module @constant_s8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi8>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xi8>
    return %0 : tensor<2x3xi8>
  }
}

module @constant_u16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui16>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xui16>
    return %0 : tensor<2x3xui16>
  }
}

module @constant_u32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui32>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xui32>
    return %0 : tensor<2x3xui32>
  }
}

module @constant_u4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui4>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xui4>
    return %0 : tensor<2x3xui4>
  }
}

module @constant_u64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui64>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xui64>
    return %0 : tensor<2x3xui64>
  }
}

module @constant_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui8>) {
    %0 = stablehlo.constant dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xui8>
    return %0 : tensor<2x3xui8>
  }
}

module @empty attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<0x3xf32>, tensor<2x0xi32>) {
    %0 = stablehlo.constant dense<> : tensor<0x3xf32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<2x0xi32>
    return %0, %2 : tensor<0x3xf32>, tensor<2x0xi32>
  }
}

module @extremes_64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2xi64>, tensor<2xui64>) {
    %0 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
    %1 = stablehlo.constant dense<[0, 18446744073709551615]> : tensor<2xui64>
    return %0, %1 : tensor<2xi64>, tensor<2xui64>
  }
}

module @full_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xbf16>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<2x3xbf16>
    return %1 : tensor<2x3xbf16>
  }
}

module @full_bool attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi1>) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i1>) -> tensor<2x3xi1>
    return %1 : tensor<2x3xi1>
  }
}

module @full_f16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf16>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f16>) -> tensor<2x3xf16>
    return %1 : tensor<2x3xf16>
  }
}

module @full_f32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
}

module @full_f64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf64>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    return %1 : tensor<2x3xf64>
  }
}

module @full_f8e4m3fn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf8E4M3FN>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f8E4M3FN>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f8E4M3FN>) -> tensor<2x3xf8E4M3FN>
    return %1 : tensor<2x3xf8E4M3FN>
  }
}

module @full_f8e5m2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf8E5M2>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f8E5M2>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f8E5M2>) -> tensor<2x3xf8E5M2>
    return %1 : tensor<2x3xf8E5M2>
  }
}

module @full_s16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi16>) {
    %0 = stablehlo.constant dense<1> : tensor<i16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i16>) -> tensor<2x3xi16>
    return %1 : tensor<2x3xi16>
  }
}

module @full_s32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi32>) {
    %0 = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    return %1 : tensor<2x3xi32>
  }
}

module @full_s4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi4>) {
    %0 = stablehlo.constant dense<1> : tensor<i4>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i4>) -> tensor<2x3xi4>
    return %1 : tensor<2x3xi4>
  }
}

module @full_s64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi64>) {
    %0 = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i64>) -> tensor<2x3xi64>
    return %1 : tensor<2x3xi64>
  }
}

module @full_s8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi8>) {
    %0 = stablehlo.constant dense<1> : tensor<i8>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i8>) -> tensor<2x3xi8>
    return %1 : tensor<2x3xi8>
  }
}

module @full_special attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>, tensor<bf16>, tensor<bf16>, tensor<f8E4M3FN>, tensor<f64>, tensor<f64>) {
    %0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %3 = stablehlo.constant dense<1.0e-01> : tensor<f32>
    %4 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %5 = stablehlo.constant dense<0x7F80> : tensor<bf16>
    %6 = stablehlo.constant dense<0x7FC0> : tensor<bf16>
    %7 = stablehlo.constant dense<1.0e-01> : tensor<bf16>
    %8 = stablehlo.constant dense<0x7F> : tensor<f8E4M3FN>
    %9 = stablehlo.constant dense<1.0e-01> : tensor<f64>
    %10 = stablehlo.constant dense<-2.5e-300> : tensor<f64>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>, tensor<bf16>, tensor<bf16>, tensor<f8E4M3FN>, tensor<f64>, tensor<f64>
  }
}

module @full_u16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui16>) {
    %0 = stablehlo.constant dense<1> : tensor<ui16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui16>) -> tensor<2x3xui16>
    return %1 : tensor<2x3xui16>
  }
}

module @full_u32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui32>) {
    %0 = stablehlo.constant dense<1> : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    return %1 : tensor<2x3xui32>
  }
}

module @full_u4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui4>) {
    %0 = stablehlo.constant dense<1> : tensor<ui4>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui4>) -> tensor<2x3xui4>
    return %1 : tensor<2x3xui4>
  }
}

module @full_u64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui64>) {
    %0 = stablehlo.constant dense<1> : tensor<ui64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui64>) -> tensor<2x3xui64>
    return %1 : tensor<2x3xui64>
  }
}

module @full_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui8>) {
    %0 = stablehlo.constant dense<1> : tensor<ui8>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui8>) -> tensor<2x3xui8>
    return %1 : tensor<2x3xui8>
  }
}

module @iota_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xbf16>, tensor<2x3xbf16>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xbf16>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xbf16>
    return %0, %1 : tensor<2x3xbf16>, tensor<2x3xbf16>
  }
}

module @iota_f16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf16>, tensor<2x3xf16>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xf16>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xf16>
    return %0, %1 : tensor<2x3xf16>, tensor<2x3xf16>
  }
}

module @iota_f32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xf32>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xf32>
    return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
  }
}

module @iota_f64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf64>, tensor<2x3xf64>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xf64>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xf64>
    return %0, %1 : tensor<2x3xf64>, tensor<2x3xf64>
  }
}

module @iota_f8e4m3fn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xf8E4M3FN>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xf8E4M3FN>
    return %0, %1 : tensor<2x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>
  }
}

module @iota_f8e5m2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xf8E5M2>, tensor<2x3xf8E5M2>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xf8E5M2>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xf8E5M2>
    return %0, %1 : tensor<2x3xf8E5M2>, tensor<2x3xf8E5M2>
  }
}

module @iota_s16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi16>, tensor<2x3xi16>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xi16>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xi16>
    return %0, %1 : tensor<2x3xi16>, tensor<2x3xi16>
  }
}

module @iota_s32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi32>, tensor<2x3xi32>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xi32>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    return %0, %1 : tensor<2x3xi32>, tensor<2x3xi32>
  }
}

module @iota_s4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi4>, tensor<2x3xi4>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xi4>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xi4>
    return %0, %1 : tensor<2x3xi4>, tensor<2x3xi4>
  }
}

module @iota_s64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi64>, tensor<2x3xi64>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xi64>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xi64>
    return %0, %1 : tensor<2x3xi64>, tensor<2x3xi64>
  }
}

module @iota_s8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xi8>, tensor<2x3xi8>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xi8>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xi8>
    return %0, %1 : tensor<2x3xi8>, tensor<2x3xi8>
  }
}

module @iota_u16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui16>, tensor<2x3xui16>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xui16>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xui16>
    return %0, %1 : tensor<2x3xui16>, tensor<2x3xui16>
  }
}

module @iota_u32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui32>, tensor<2x3xui32>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xui32>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xui32>
    return %0, %1 : tensor<2x3xui32>, tensor<2x3xui32>
  }
}

module @iota_u4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui4>, tensor<2x3xui4>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xui4>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xui4>
    return %0, %1 : tensor<2x3xui4>, tensor<2x3xui4>
  }
}

module @iota_u64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui64>, tensor<2x3xui64>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xui64>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xui64>
    return %0, %1 : tensor<2x3xui64>, tensor<2x3xui64>
  }
}

module @iota_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x3xui8>, tensor<2x3xui8>) {
    %0 = stablehlo.iota dim = 0 : tensor<2x3xui8>
    %1 = stablehlo.iota dim = 1 : tensor<2x3xui8>
    return %0, %1 : tensor<2x3xui8>, tensor<2x3xui8>
  }
}

module @large_bool attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<100xi1>) {
    %0 = stablehlo.constant dense<[true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true]> : tensor<100xi1>
    return %0 : tensor<100xi1>
  }
}

module @large_f32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x100xf32>) {
    %0 = stablehlo.constant dense<"0x000000002549123E2549923EB76DDB3E2549123F6EDB363FB76D5B3F0000803F2549923F4992A43F6EDBB63F9224C93FB76DDB3FDBB6ED3F000000409224094025491240B76D1B4049922440DBB62D406EDB3640000040409224494025495240B76D5B4049926440DBB66D406EDB7640000080404992844092248940DBB68D40254992406EDB9640B76D9B400000A0404992A4409224A940DBB6AD402549B2406EDBB640B76DBB400000C0404992C4409224C940DBB6CD402549D2406EDBD640B76DDB400000E0404992E4409224E940DBB6ED402549F2406EDBF640B76DFB400000004125490241499204416EDB064192240941B76D0B41DBB60D410000104125491241499214416EDB164192241941B76D1B41DBB61D410000204125492241499224416EDB264192242941B76D2B41DBB62D410000304125493241499234416EDB364192243941B76D3B41DBB63D410000404125494241499244416EDB464192244941B76D4B41DBB64D410000504125495241499254416EDB564192245941B76D5B41DBB65D410000604125496241499264416EDB664192246941B76D6B41DBB66D410000704125497241499274416EDB764192247941B76D7B41DBB67D41000080419224814125498241B76D834149928441DBB685416EDB8641000088419224894125498A41B76D8B4149928C41DBB68D416EDB8E41000090419224914125499241B76D934149929441DBB695416EDB9641000098419224994125499A41B76D9B4149929C41DBB69D416EDB9E410000A0419224A1412549A241B76DA3414992A441DBB6A5416EDBA6410000A8419224A9412549AA41B76DAB414992AC41DBB6AD416EDBAE410000B0419224B1412549B241B76DB3414992B441DBB6B5416EDBB6410000B8419224B9412549BA41B76DBB414992BC41DBB6BD416EDBBE410000C0419224C1412549C241B76DC3414992C441DBB6C5416EDBC6410000C8419224C9412549CA41B76DCB414992CC41DBB6CD416EDBCE410000D0419224D1412549D241B76DD3414992D441DBB6D5416EDBD6410000D8419224D9412549DA41B76DDB414992DC41DBB6DD416EDBDE410000E0419224E1412549E241B76DE341"> : tensor<2x100xf32>
    return %0 : tensor<2x100xf32>
  }
}

module @large_s4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<100xi4>) {
    %0 = stablehlo.constant dense<[-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5]> : tensor<100xi4>
    return %0 : tensor<100xi4>
  }
}

module @like attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x2xi1>) -> (tensor<1x2xi1>, tensor<1x2xi1>, tensor<i1>) {
    %0 = stablehlo.constant dense<false> : tensor<i1>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i1>) -> tensor<1x2xi1>
    %2 = stablehlo.constant dense<true> : tensor<i1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1x2xi1>
    %4 = stablehlo.constant dense<true> : tensor<i1>
    return %1, %3, %4 : tensor<1x2xi1>, tensor<1x2xi1>, tensor<i1>
  }
}

module @scalar_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<bf16>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<bf16>
    return %0 : tensor<bf16>
  }
}

module @scalar_bool attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<i1>) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    return %0 : tensor<i1>
  }
}

module @scalar_f16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<f16>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f16>
    return %0 : tensor<f16>
  }
}

module @scalar_f32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<f32>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    return %0 : tensor<f32>
  }
}

module @scalar_f64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<f64>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f64>
    return %0 : tensor<f64>
  }
}

module @scalar_f8e4m3fn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<f8E4M3FN>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f8E4M3FN>
    return %0 : tensor<f8E4M3FN>
  }
}

module @scalar_f8e5m2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<f8E5M2>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f8E5M2>
    return %0 : tensor<f8E5M2>
  }
}

module @scalar_s16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<i16>) {
    %0 = stablehlo.constant dense<1> : tensor<i16>
    return %0 : tensor<i16>
  }
}

module @scalar_s32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<i32>) {
    %0 = stablehlo.constant dense<1> : tensor<i32>
    return %0 : tensor<i32>
  }
}

module @scalar_s4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<i4>) {
    %0 = stablehlo.constant dense<1> : tensor<i4>
    return %0 : tensor<i4>
  }
}

module @scalar_s64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<i64>) {
    %0 = stablehlo.constant dense<1> : tensor<i64>
    return %0 : tensor<i64>
  }
}

module @scalar_s8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<i8>) {
    %0 = stablehlo.constant dense<1> : tensor<i8>
    return %0 : tensor<i8>
  }
}

module @scalar_u16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<ui16>) {
    %0 = stablehlo.constant dense<1> : tensor<ui16>
    return %0 : tensor<ui16>
  }
}

module @scalar_u32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<ui32>) {
    %0 = stablehlo.constant dense<1> : tensor<ui32>
    return %0 : tensor<ui32>
  }
}

module @scalar_u4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<ui4>) {
    %0 = stablehlo.constant dense<1> : tensor<ui4>
    return %0 : tensor<ui4>
  }
}

module @scalar_u64 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<ui64>) {
    %0 = stablehlo.constant dense<1> : tensor<ui64>
    return %0 : tensor<ui64>
  }
}

module @scalar_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<ui8>) {
    %0 = stablehlo.constant dense<1> : tensor<ui8>
    return %0 : tensor<ui8>
  }
}
