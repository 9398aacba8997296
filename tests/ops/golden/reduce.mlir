// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @all_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3xi1>) -> (tensor<i1>) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.and across dimensions = [0, 1] : (tensor<3x3xi1>, tensor<i1>) -> tensor<i1>
    return %1 : tensor<i1>
  }
}

module @all_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3xi1>) -> (tensor<3xi1>) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.and across dimensions = [1] : (tensor<3x3xi1>, tensor<i1>) -> tensor<3xi1>
    return %1 : tensor<3xi1>
  }
}

module @all_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3xi1>) -> (tensor<3x1xi1>) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.and across dimensions = [1] : (tensor<3x3xi1>, tensor<i1>) -> tensor<3xi1>
    %2 = stablehlo.reshape %1 : (tensor<3xi1>) -> tensor<3x1xi1>
    return %2 : tensor<3x1xi1>
  }
}

module @any_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3xi1>) -> (tensor<i1>) {
    %0 = stablehlo.constant dense<false> : tensor<i1>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.or across dimensions = [0, 1] : (tensor<3x3xi1>, tensor<i1>) -> tensor<i1>
    return %1 : tensor<i1>
  }
}

module @any_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3xi1>) -> (tensor<3xi1>) {
    %0 = stablehlo.constant dense<false> : tensor<i1>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.or across dimensions = [1] : (tensor<3x3xi1>, tensor<i1>) -> tensor<3xi1>
    return %1 : tensor<3xi1>
  }
}

module @any_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3xi1>) -> (tensor<3x1xi1>) {
    %0 = stablehlo.constant dense<false> : tensor<i1>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.or across dimensions = [1] : (tensor<3x3xi1>, tensor<i1>) -> tensor<3xi1>
    %2 = stablehlo.reshape %1 : (tensor<3xi1>) -> tensor<3x1xi1>
    return %2 : tensor<3x1xi1>
  }
}

module @argmax_0_keepdims_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7x3xf32>) -> (tensor<1x3xui8>) {
    %0 = stablehlo.iota dim = 0 : tensor<7x3xui8>
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.constant dense<255> : tensor<ui8>
    %3:2 = "stablehlo.reduce"(%arg0, %0, %1, %2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%4: tensor<f32>, %5: tensor<ui8>, %6: tensor<f32>, %7: tensor<ui8>):
      %8 = stablehlo.compare GT, %6, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.compare EQ, %6, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %10 = stablehlo.compare NE, %6, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.compare EQ, %4, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %12 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %13 = stablehlo.and %10, %11 : tensor<i1>
      %14 = stablehlo.and %10, %12 : tensor<i1>
      %15 = stablehlo.or %8, %13 : tensor<i1>
      %16 = stablehlo.or %9, %14 : tensor<i1>
      %17 = stablehlo.compare LT, %7, %5, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      %18 = stablehlo.and %16, %17 : tensor<i1>
      %19 = stablehlo.or %15, %18 : tensor<i1>
      %20 = stablehlo.select %19, %6, %4 : tensor<i1>, tensor<f32>
      %21 = stablehlo.select %19, %7, %5 : tensor<i1>, tensor<ui8>
      stablehlo.return %20, %21 : tensor<f32>, tensor<ui8>
    }) : (tensor<7x3xf32>, tensor<7x3xui8>, tensor<f32>, tensor<ui8>) -> (tensor<3xf32>, tensor<3xui8>)
    %22 = stablehlo.reshape %3#1 : (tensor<3xui8>) -> tensor<1x3xui8>
    return %22 : tensor<1x3xui8>
  }
}

module @argmax_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7x4xbf16>) -> (tensor<7xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<7x4xi32>
    %1 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %2 = stablehlo.constant dense<2147483647> : tensor<i32>
    %3:2 = "stablehlo.reduce"(%arg0, %0, %1, %2) <{dimensions = array<i64: 1>}> ({
    ^bb0(%4: tensor<bf16>, %5: tensor<i32>, %6: tensor<bf16>, %7: tensor<i32>):
      %8 = stablehlo.compare GT, %6, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %9 = stablehlo.compare EQ, %6, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %10 = stablehlo.compare NE, %6, %6, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %11 = stablehlo.compare EQ, %4, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %12 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %13 = stablehlo.and %10, %11 : tensor<i1>
      %14 = stablehlo.and %10, %12 : tensor<i1>
      %15 = stablehlo.or %8, %13 : tensor<i1>
      %16 = stablehlo.or %9, %14 : tensor<i1>
      %17 = stablehlo.compare LT, %7, %5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %18 = stablehlo.and %16, %17 : tensor<i1>
      %19 = stablehlo.or %15, %18 : tensor<i1>
      %20 = stablehlo.select %19, %6, %4 : tensor<i1>, tensor<bf16>
      %21 = stablehlo.select %19, %7, %5 : tensor<i1>, tensor<i32>
      stablehlo.return %20, %21 : tensor<bf16>, tensor<i32>
    }) : (tensor<7x4xbf16>, tensor<7x4xi32>, tensor<bf16>, tensor<i32>) -> (tensor<7xbf16>, tensor<7xi32>)
    return %3#1 : tensor<7xi32>
  }
}

module @argmin_0_keepdims_u8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7x3xf32>) -> (tensor<1x3xui8>) {
    %0 = stablehlo.iota dim = 0 : tensor<7x3xui8>
    %1 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %2 = stablehlo.constant dense<255> : tensor<ui8>
    %3:2 = "stablehlo.reduce"(%arg0, %0, %1, %2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%4: tensor<f32>, %5: tensor<ui8>, %6: tensor<f32>, %7: tensor<ui8>):
      %8 = stablehlo.compare LT, %6, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.compare EQ, %6, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %10 = stablehlo.compare NE, %6, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.compare EQ, %4, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %12 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %13 = stablehlo.and %10, %11 : tensor<i1>
      %14 = stablehlo.and %10, %12 : tensor<i1>
      %15 = stablehlo.or %8, %13 : tensor<i1>
      %16 = stablehlo.or %9, %14 : tensor<i1>
      %17 = stablehlo.compare LT, %7, %5, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      %18 = stablehlo.and %16, %17 : tensor<i1>
      %19 = stablehlo.or %15, %18 : tensor<i1>
      %20 = stablehlo.select %19, %6, %4 : tensor<i1>, tensor<f32>
      %21 = stablehlo.select %19, %7, %5 : tensor<i1>, tensor<ui8>
      stablehlo.return %20, %21 : tensor<f32>, tensor<ui8>
    }) : (tensor<7x3xf32>, tensor<7x3xui8>, tensor<f32>, tensor<ui8>) -> (tensor<3xf32>, tensor<3xui8>)
    %22 = stablehlo.reshape %3#1 : (tensor<3xui8>) -> tensor<1x3xui8>
    return %22 : tensor<1x3xui8>
  }
}

module @argmin_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7x4xbf16>) -> (tensor<7xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<7x4xi32>
    %1 = stablehlo.constant dense<0x7F80> : tensor<bf16>
    %2 = stablehlo.constant dense<2147483647> : tensor<i32>
    %3:2 = "stablehlo.reduce"(%arg0, %0, %1, %2) <{dimensions = array<i64: 1>}> ({
    ^bb0(%4: tensor<bf16>, %5: tensor<i32>, %6: tensor<bf16>, %7: tensor<i32>):
      %8 = stablehlo.compare LT, %6, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %9 = stablehlo.compare EQ, %6, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %10 = stablehlo.compare NE, %6, %6, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %11 = stablehlo.compare EQ, %4, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %12 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %13 = stablehlo.and %10, %11 : tensor<i1>
      %14 = stablehlo.and %10, %12 : tensor<i1>
      %15 = stablehlo.or %8, %13 : tensor<i1>
      %16 = stablehlo.or %9, %14 : tensor<i1>
      %17 = stablehlo.compare LT, %7, %5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %18 = stablehlo.and %16, %17 : tensor<i1>
      %19 = stablehlo.or %15, %18 : tensor<i1>
      %20 = stablehlo.select %19, %6, %4 : tensor<i1>, tensor<bf16>
      %21 = stablehlo.select %19, %7, %5 : tensor<i1>, tensor<i32>
      stablehlo.return %20, %21 : tensor<bf16>, tensor<i32>
    }) : (tensor<7x4xbf16>, tensor<7x4xi32>, tensor<bf16>, tensor<i32>) -> (tensor<7xbf16>, tensor<7xi32>)
    return %3#1 : tensor<7xi32>
  }
}

module @cumsum_0 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7xbf16>) -> (tensor<3x7xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<3x7xbf16>) -> tensor<3x7xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.pad %0, %1, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    %3 = stablehlo.add %0, %2 : tensor<3x7xf32>
    %4 = stablehlo.pad %3, %1, low = [2, 0], high = [-2, 0], interior = [0, 0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    %5 = stablehlo.add %3, %4 : tensor<3x7xf32>
    %6 = stablehlo.convert %5 : (tensor<3x7xf32>) -> tensor<3x7xbf16>
    return %6 : tensor<3x7xbf16>
  }
}

module @cumsum_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3000xbf16>) -> (tensor<2x3000xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3000xbf16>) -> tensor<2x3000xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.pad %0, %1, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %3 = stablehlo.add %0, %2 : tensor<2x3000xf32>
    %4 = stablehlo.pad %3, %1, low = [0, 2], high = [0, -2], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %5 = stablehlo.add %3, %4 : tensor<2x3000xf32>
    %6 = stablehlo.pad %5, %1, low = [0, 4], high = [0, -4], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %7 = stablehlo.add %5, %6 : tensor<2x3000xf32>
    %8 = stablehlo.pad %7, %1, low = [0, 8], high = [0, -8], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %9 = stablehlo.add %7, %8 : tensor<2x3000xf32>
    %10 = stablehlo.pad %9, %1, low = [0, 16], high = [0, -16], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %11 = stablehlo.add %9, %10 : tensor<2x3000xf32>
    %12 = stablehlo.pad %11, %1, low = [0, 32], high = [0, -32], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %13 = stablehlo.add %11, %12 : tensor<2x3000xf32>
    %14 = stablehlo.pad %13, %1, low = [0, 64], high = [0, -64], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %15 = stablehlo.add %13, %14 : tensor<2x3000xf32>
    %16 = stablehlo.pad %15, %1, low = [0, 128], high = [0, -128], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %17 = stablehlo.add %15, %16 : tensor<2x3000xf32>
    %18 = stablehlo.pad %17, %1, low = [0, 256], high = [0, -256], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %19 = stablehlo.add %17, %18 : tensor<2x3000xf32>
    %20 = stablehlo.pad %19, %1, low = [0, 512], high = [0, -512], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %21 = stablehlo.add %19, %20 : tensor<2x3000xf32>
    %22 = stablehlo.pad %21, %1, low = [0, 1024], high = [0, -1024], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %23 = stablehlo.add %21, %22 : tensor<2x3000xf32>
    %24 = stablehlo.pad %23, %1, low = [0, 2048], high = [0, -2048], interior = [0, 0] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2x3000xf32>
    %25 = stablehlo.add %23, %24 : tensor<2x3000xf32>
    %26 = stablehlo.convert %25 : (tensor<2x3000xf32>) -> tensor<2x3000xbf16>
    return %26 : tensor<2x3000xbf16>
  }
}

module @cumsum_1_reverse attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7xbf16>) -> (tensor<3x7xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<3x7xbf16>) -> tensor<3x7xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.pad %0, %1, low = [0, -1], high = [0, 1], interior = [0, 0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    %3 = stablehlo.add %0, %2 : tensor<3x7xf32>
    %4 = stablehlo.pad %3, %1, low = [0, -2], high = [0, 2], interior = [0, 0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    %5 = stablehlo.add %3, %4 : tensor<3x7xf32>
    %6 = stablehlo.pad %5, %1, low = [0, -4], high = [0, 4], interior = [0, 0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    %7 = stablehlo.add %5, %6 : tensor<3x7xf32>
    %8 = stablehlo.convert %7 : (tensor<3x7xf32>) -> tensor<3x7xbf16>
    return %8 : tensor<3x7xbf16>
  }
}

module @log_softmax attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
    %3 = stablehlo.is_finite %2 : (tensor<2x1xf32>) -> tensor<2x1xi1>
    %4 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<2x1xf32>
    %6 = stablehlo.select %3, %2, %5 : tensor<2x1xi1>, tensor<2x1xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x5xf32>
    %8 = stablehlo.subtract %arg0, %7 : tensor<2x5xf32>
    %9 = stablehlo.exponential %8 : tensor<2x5xf32>
    %10 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %11 = stablehlo.reduce(%9 init: %10) applies stablehlo.add across dimensions = [1] : (tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>
    %12 = stablehlo.reshape %11 : (tensor<2xf32>) -> tensor<2x1xf32>
    %13 = stablehlo.log %12 : tensor<2x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x5xf32>
    %15 = stablehlo.subtract %8, %14 : tensor<2x5xf32>
    return %15 : tensor<2x5xf32>
  }
}

module @logsumexp_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<bf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<bf16>
    %2 = stablehlo.reshape %1 : (tensor<bf16>) -> tensor<1x1x1xbf16>
    %3 = stablehlo.is_finite %2 : (tensor<1x1x1xbf16>) -> tensor<1x1x1xi1>
    %4 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<bf16>) -> tensor<1x1x1xbf16>
    %6 = stablehlo.select %3, %2, %5 : tensor<1x1x1xi1>, tensor<1x1x1xbf16>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<1x1x1xbf16>) -> tensor<2x3x4xbf16>
    %8 = stablehlo.subtract %arg0, %7 : tensor<2x3x4xbf16>
    %9 = stablehlo.exponential %8 : tensor<2x3x4xbf16>
    %10 = stablehlo.convert %9 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %11 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<f32>
    %13 = stablehlo.convert %12 : (tensor<f32>) -> tensor<bf16>
    %14 = stablehlo.reshape %13 : (tensor<bf16>) -> tensor<1x1x1xbf16>
    %15 = stablehlo.log %14 : tensor<1x1x1xbf16>
    %16 = stablehlo.add %15, %6 : tensor<1x1x1xbf16>
    %17 = stablehlo.reshape %16 : (tensor<1x1x1xbf16>) -> tensor<bf16>
    return %17 : tensor<bf16>
  }
}

module @logsumexp_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x4xbf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
    %2 = stablehlo.reshape %1 : (tensor<2x4xbf16>) -> tensor<2x1x4xbf16>
    %3 = stablehlo.is_finite %2 : (tensor<2x1x4xbf16>) -> tensor<2x1x4xi1>
    %4 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<bf16>) -> tensor<2x1x4xbf16>
    %6 = stablehlo.select %3, %2, %5 : tensor<2x1x4xi1>, tensor<2x1x4xbf16>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x1x4xbf16>) -> tensor<2x3x4xbf16>
    %8 = stablehlo.subtract %arg0, %7 : tensor<2x3x4xbf16>
    %9 = stablehlo.exponential %8 : tensor<2x3x4xbf16>
    %10 = stablehlo.convert %9 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %11 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.add across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %13 = stablehlo.convert %12 : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    %14 = stablehlo.reshape %13 : (tensor<2x4xbf16>) -> tensor<2x1x4xbf16>
    %15 = stablehlo.log %14 : tensor<2x1x4xbf16>
    %16 = stablehlo.add %15, %6 : tensor<2x1x4xbf16>
    %17 = stablehlo.reshape %16 : (tensor<2x1x4xbf16>) -> tensor<2x4xbf16>
    return %17 : tensor<2x4xbf16>
  }
}

module @logsumexp_dims_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<3xbf16>
    %2 = stablehlo.reshape %1 : (tensor<3xbf16>) -> tensor<1x3x1xbf16>
    %3 = stablehlo.is_finite %2 : (tensor<1x3x1xbf16>) -> tensor<1x3x1xi1>
    %4 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<bf16>) -> tensor<1x3x1xbf16>
    %6 = stablehlo.select %3, %2, %5 : tensor<1x3x1xi1>, tensor<1x3x1xbf16>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<1x3x1xbf16>) -> tensor<2x3x4xbf16>
    %8 = stablehlo.subtract %arg0, %7 : tensor<2x3x4xbf16>
    %9 = stablehlo.exponential %8 : tensor<2x3x4xbf16>
    %10 = stablehlo.convert %9 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %11 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
    %13 = stablehlo.convert %12 : (tensor<3xf32>) -> tensor<3xbf16>
    %14 = stablehlo.reshape %13 : (tensor<3xbf16>) -> tensor<1x3x1xbf16>
    %15 = stablehlo.log %14 : tensor<1x3x1xbf16>
    %16 = stablehlo.add %15, %6 : tensor<1x3x1xbf16>
    %17 = stablehlo.reshape %16 : (tensor<1x3x1xbf16>) -> tensor<3xbf16>
    return %17 : tensor<3xbf16>
  }
}

module @logsumexp_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x1x4xbf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
    %2 = stablehlo.reshape %1 : (tensor<2x4xbf16>) -> tensor<2x1x4xbf16>
    %3 = stablehlo.is_finite %2 : (tensor<2x1x4xbf16>) -> tensor<2x1x4xi1>
    %4 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<bf16>) -> tensor<2x1x4xbf16>
    %6 = stablehlo.select %3, %2, %5 : tensor<2x1x4xi1>, tensor<2x1x4xbf16>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x1x4xbf16>) -> tensor<2x3x4xbf16>
    %8 = stablehlo.subtract %arg0, %7 : tensor<2x3x4xbf16>
    %9 = stablehlo.exponential %8 : tensor<2x3x4xbf16>
    %10 = stablehlo.convert %9 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %11 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.add across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %13 = stablehlo.convert %12 : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    %14 = stablehlo.reshape %13 : (tensor<2x4xbf16>) -> tensor<2x1x4xbf16>
    %15 = stablehlo.log %14 : tensor<2x1x4xbf16>
    %16 = stablehlo.add %15, %6 : tensor<2x1x4xbf16>
    return %16 : tensor<2x1x4xbf16>
  }
}

module @logsumexp_none attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x3x4xbf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<2x3x4xbf16>
    %2 = stablehlo.is_finite %1 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xi1>
    %3 = stablehlo.constant dense<0.0e+00> : tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<bf16>) -> tensor<2x3x4xbf16>
    %5 = stablehlo.select %2, %1, %4 : tensor<2x3x4xi1>, tensor<2x3x4xbf16>
    %6 = stablehlo.subtract %arg0, %5 : tensor<2x3x4xbf16>
    %7 = stablehlo.exponential %6 : tensor<2x3x4xbf16>
    %8 = stablehlo.convert %7 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %9 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %10 = stablehlo.reduce(%8 init: %9) applies stablehlo.add across dimensions = [] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %11 = stablehlo.convert %10 : (tensor<2x3x4xf32>) -> tensor<2x3x4xbf16>
    %12 = stablehlo.log %11 : tensor<2x3x4xbf16>
    %13 = stablehlo.add %12, %5 : tensor<2x3x4xbf16>
    return %13 : tensor<2x3x4xbf16>
  }
}

module @max_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<bf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<bf16>
    return %1 : tensor<bf16>
  }
}

module @max_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x4xbf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
    return %1 : tensor<2x4xbf16>
  }
}

module @max_dims_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<3xbf16>
    return %1 : tensor<3xbf16>
  }
}

module @max_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x1xf32>) {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
    return %2 : tensor<2x1xf32>
  }
}

module @max_none attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x3x4xbf16>) {
    %0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<2x3x4xbf16>
    return %1 : tensor<2x3x4xbf16>
  }
}

module @mean_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<bf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.constant dense<2.4e+01> : tensor<f32>
    %4 = stablehlo.divide %2, %3 : tensor<f32>
    %5 = stablehlo.convert %4 : (tensor<f32>) -> tensor<bf16>
    return %5 : tensor<bf16>
  }
}

module @mean_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3000xbf16>) -> (tensor<2xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3000xbf16>) -> tensor<2x3000xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<2x3000xf32>, tensor<f32>) -> tensor<2xf32>
    %3 = stablehlo.constant dense<3.0e+03> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %5 = stablehlo.divide %2, %4 : tensor<2xf32>
    %6 = stablehlo.convert %5 : (tensor<2xf32>) -> tensor<2xbf16>
    return %6 : tensor<2xbf16>
  }
}

module @mean_dims_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.constant dense<8.0e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %5 = stablehlo.divide %2, %4 : tensor<3xf32>
    %6 = stablehlo.convert %5 : (tensor<3xf32>) -> tensor<3xbf16>
    return %6 : tensor<3xbf16>
  }
}

module @mean_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x1x4xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %4 = stablehlo.constant dense<3.0e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<2x1x4xf32>
    %6 = stablehlo.divide %3, %5 : tensor<2x1x4xf32>
    %7 = stablehlo.convert %6 : (tensor<2x1x4xf32>) -> tensor<2x1x4xbf16>
    return %7 : tensor<2x1x4xbf16>
  }
}

module @mean_none attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x3x4xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %3 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<2x3x4xf32>
    %5 = stablehlo.divide %2, %4 : tensor<2x3x4xf32>
    %6 = stablehlo.convert %5 : (tensor<2x3x4xf32>) -> tensor<2x3x4xbf16>
    return %6 : tensor<2x3x4xbf16>
  }
}

module @min_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<bf16>) {
    %0 = stablehlo.constant dense<0x7F80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.minimum across dimensions = [0, 1, 2] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<bf16>
    return %1 : tensor<bf16>
  }
}

module @min_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x4xbf16>) {
    %0 = stablehlo.constant dense<0x7F80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
    return %1 : tensor<2x4xbf16>
  }
}

module @min_dims_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.constant dense<0x7F80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.minimum across dimensions = [0, 2] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<3xbf16>
    return %1 : tensor<3xbf16>
  }
}

module @min_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x1xf32>) {
    %0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
    return %2 : tensor<2x1xf32>
  }
}

module @min_none attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x3x4xbf16>) {
    %0 = stablehlo.constant dense<0x7F80> : tensor<bf16>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.minimum across dimensions = [] : (tensor<2x3x4xbf16>, tensor<bf16>) -> tensor<2x3x4xbf16>
    return %1 : tensor<2x3x4xbf16>
  }
}

module @prod_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<bf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.multiply across dimensions = [0, 1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.convert %2 : (tensor<f32>) -> tensor<bf16>
    return %3 : tensor<bf16>
  }
}

module @prod_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x4xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.multiply across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = stablehlo.convert %2 : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    return %3 : tensor<2x4xbf16>
  }
}

module @prod_dims_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.multiply across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.convert %2 : (tensor<3xf32>) -> tensor<3xbf16>
    return %3 : tensor<3xbf16>
  }
}

module @prod_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x1xf32>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.multiply across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
    return %2 : tensor<2x1xf32>
  }
}

module @prod_none attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x3x4xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.multiply across dimensions = [] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %3 = stablehlo.convert %2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xbf16>
    return %3 : tensor<2x3x4xbf16>
  }
}

module @reduce_and_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xi8>) -> (tensor<2xi8>) {
    %0 = stablehlo.constant dense<-1> : tensor<i8>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.and across dimensions = [1] : (tensor<2x2xi8>, tensor<i8>) -> tensor<2xi8>
    return %1 : tensor<2xi8>
  }
}

module @reduce_or_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xi8>) -> (tensor<2xi8>) {
    %0 = stablehlo.constant dense<0> : tensor<i8>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.or across dimensions = [1] : (tensor<2x2xi8>, tensor<i8>) -> tensor<2xi8>
    return %1 : tensor<2xi8>
  }
}

module @softmax attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7xbf16>) -> (tensor<3x7xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<3x7xbf16>) -> tensor<3x7xf32>
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.maximum across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<3xf32>) -> tensor<3x7xf32>
    %4 = stablehlo.subtract %0, %3 : tensor<3x7xf32>
    %5 = stablehlo.exponential %4 : tensor<3x7xf32>
    %6 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<3xf32>) -> tensor<3x7xf32>
    %9 = stablehlo.divide %5, %8 : tensor<3x7xf32>
    %10 = stablehlo.convert %9 : (tensor<3x7xf32>) -> tensor<3x7xbf16>
    return %10 : tensor<3x7xbf16>
  }
}

module @softmax_0 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7xbf16>) -> (tensor<3x7xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<3x7xbf16>) -> tensor<3x7xf32>
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.maximum across dimensions = [0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<7xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<7xf32>) -> tensor<3x7xf32>
    %4 = stablehlo.subtract %0, %3 : tensor<3x7xf32>
    %5 = stablehlo.exponential %4 : tensor<3x7xf32>
    %6 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<7xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<7xf32>) -> tensor<3x7xf32>
    %9 = stablehlo.divide %5, %8 : tensor<3x7xf32>
    %10 = stablehlo.convert %9 : (tensor<3x7xf32>) -> tensor<3x7xbf16>
    return %10 : tensor<3x7xbf16>
  }
}

module @sum_all attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<bf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.convert %2 : (tensor<f32>) -> tensor<bf16>
    return %3 : tensor<bf16>
  }
}

module @sum_dim_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x4xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = stablehlo.convert %2 : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    return %3 : tensor<2x4xbf16>
  }
}

module @sum_dims_0_minus1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<3xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.convert %2 : (tensor<3xf32>) -> tensor<3xbf16>
    return %3 : tensor<3xbf16>
  }
}

module @sum_keepdims attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x1xf32>) {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
    return %2 : tensor<2x1xf32>
  }
}

module @sum_none attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xbf16>) -> (tensor<2x3x4xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %3 = stablehlo.convert %2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xbf16>
    return %3 : tensor<2x3x4xbf16>
  }
}
