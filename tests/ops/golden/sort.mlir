// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @argsort attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x6xf32>) -> (tensor<3x6xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<3x6xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%2: tensor<f32>, %3: tensor<f32>, %4: tensor<i32>, %5: tensor<i32>):
      %6 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %7 = stablehlo.compare EQ, %2, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %6, %2 : tensor<i1>, tensor<f32>
      %9 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %10 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.select %10, %9, %8 : tensor<i1>, tensor<f32>
      %12 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %13 = stablehlo.compare EQ, %3, %12, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %12, %3 : tensor<i1>, tensor<f32>
      %15 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %16 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %17 = stablehlo.select %16, %15, %14 : tensor<i1>, tensor<f32>
      %18 = stablehlo.compare LT, %11, %17, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %18 : tensor<i1>
    }) : (tensor<3x6xf32>, tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>)
    return %1#1 : tensor<3x6xi32>
  }
}

module @argsort_descending attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x6xf32>) -> (tensor<3x6xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<3x6xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%2: tensor<f32>, %3: tensor<f32>, %4: tensor<i32>, %5: tensor<i32>):
      %6 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %7 = stablehlo.compare EQ, %2, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %6, %2 : tensor<i1>, tensor<f32>
      %9 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %10 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.select %10, %9, %8 : tensor<i1>, tensor<f32>
      %12 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %13 = stablehlo.compare EQ, %3, %12, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %12, %3 : tensor<i1>, tensor<f32>
      %15 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %16 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %17 = stablehlo.select %16, %15, %14 : tensor<i1>, tensor<f32>
      %18 = stablehlo.compare GT, %11, %17, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %18 : tensor<i1>
    }) : (tensor<3x6xf32>, tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>)
    return %1#1 : tensor<3x6xi32>
  }
}

module @sort attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x6xf32>) -> (tensor<3x6xf32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%1: tensor<f32>, %2: tensor<f32>):
      %3 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %4 = stablehlo.compare EQ, %1, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.select %4, %3, %1 : tensor<i1>, tensor<f32>
      %6 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %7 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %6, %5 : tensor<i1>, tensor<f32>
      %9 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %10 = stablehlo.compare EQ, %2, %9, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.select %10, %9, %2 : tensor<i1>, tensor<f32>
      %12 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %13 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %12, %11 : tensor<i1>, tensor<f32>
      %15 = stablehlo.compare LT, %8, %14, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    }) : (tensor<3x6xf32>) -> (tensor<3x6xf32>)
    return %0 : tensor<3x6xf32>
  }
}

module @sort_by_key attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7xi32>, %arg1: tensor<2x7xbf16>) -> (tensor<2x7xi32>, tensor<2x7xbf16>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%1: tensor<i32>, %2: tensor<i32>, %3: tensor<bf16>, %4: tensor<bf16>):
      %5 = stablehlo.compare LT, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }) : (tensor<2x7xi32>, tensor<2x7xbf16>) -> (tensor<2x7xi32>, tensor<2x7xbf16>)
    return %0#0, %0#1 : tensor<2x7xi32>, tensor<2x7xbf16>
  }
}

module @sort_by_two_keys attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7xi32>, %arg1: tensor<2x7xf32>, %arg2: tensor<2x7xbf16>) -> (tensor<2x7xi32>, tensor<2x7xf32>, tensor<2x7xbf16>) {
    %0:3 = "stablehlo.sort"(%arg0, %arg1, %arg2) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%1: tensor<i32>, %2: tensor<i32>, %3: tensor<f32>, %4: tensor<f32>, %5: tensor<bf16>, %6: tensor<bf16>):
      %7 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %8 = stablehlo.compare EQ, %3, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.select %8, %7, %3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %11 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %12 = stablehlo.select %11, %10, %9 : tensor<i1>, tensor<f32>
      %13 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %14 = stablehlo.compare EQ, %4, %13, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %15 = stablehlo.select %14, %13, %4 : tensor<i1>, tensor<f32>
      %16 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %17 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %18 = stablehlo.select %17, %16, %15 : tensor<i1>, tensor<f32>
      %19 = stablehlo.compare LT, %12, %18, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %20 = stablehlo.compare LT, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %21 = stablehlo.compare EQ, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %22 = stablehlo.select %21, %19, %20 : tensor<i1>, tensor<i1>
      stablehlo.return %22 : tensor<i1>
    }) : (tensor<2x7xi32>, tensor<2x7xf32>, tensor<2x7xbf16>) -> (tensor<2x7xi32>, tensor<2x7xf32>, tensor<2x7xbf16>)
    return %0#0, %0#1, %0#2 : tensor<2x7xi32>, tensor<2x7xf32>, tensor<2x7xbf16>
  }
}

module @sort_descending attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x6xf32>) -> (tensor<3x6xf32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%1: tensor<f32>, %2: tensor<f32>):
      %3 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %4 = stablehlo.compare EQ, %1, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.select %4, %3, %1 : tensor<i1>, tensor<f32>
      %6 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %7 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %6, %5 : tensor<i1>, tensor<f32>
      %9 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %10 = stablehlo.compare EQ, %2, %9, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.select %10, %9, %2 : tensor<i1>, tensor<f32>
      %12 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %13 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %12, %11 : tensor<i1>, tensor<f32>
      %15 = stablehlo.compare GT, %8, %14, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    }) : (tensor<3x6xf32>) -> (tensor<3x6xf32>)
    return %0 : tensor<3x6xf32>
  }
}

module @sort_dim_0 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x6xf32>) -> (tensor<3x6xf32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%1: tensor<f32>, %2: tensor<f32>):
      %3 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %4 = stablehlo.compare EQ, %1, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.select %4, %3, %1 : tensor<i1>, tensor<f32>
      %6 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %7 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %6, %5 : tensor<i1>, tensor<f32>
      %9 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %10 = stablehlo.compare EQ, %2, %9, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.select %10, %9, %2 : tensor<i1>, tensor<f32>
      %12 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %13 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %12, %11 : tensor<i1>, tensor<f32>
      %15 = stablehlo.compare LT, %8, %14, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    }) : (tensor<3x6xf32>) -> (tensor<3x6xf32>)
    return %0 : tensor<3x6xf32>
  }
}

module @top_k_3 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x8xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi32>) {
    %0 = stablehlo.iota dim = 2 : tensor<2x3x8xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 2 : i64, is_stable = true}> ({
      ^bb0(%2: tensor<f32>, %3: tensor<f32>, %4: tensor<i32>, %5: tensor<i32>):
      %6 = stablehlo.compare GT, %2, %3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) : (tensor<2x3x8xf32>, tensor<2x3x8xi32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xi32>)
    %7 = stablehlo.slice %1#0 [0:2, 0:3, 0:3] : (tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
    %8 = stablehlo.slice %1#1 [0:2, 0:3, 0:3] : (tensor<2x3x8xi32>) -> tensor<2x3x3xi32>
    return %7, %8 : tensor<2x3x3xf32>, tensor<2x3x3xi32>
  }
}
