// Made by op_test with TESSERA_UPDATE_GOLDEN=1.

module @erf_inv attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<46xf32>) -> (tensor<46xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<46xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<46xf32>
    %2 = stablehlo.log_plus_one %1 : tensor<46xf32>
    %3 = stablehlo.negate %2 : tensor<46xf32>
    %4 = stablehlo.constant dense<5.0e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %6 = stablehlo.compare LT, %3, %5, FLOAT : (tensor<46xf32>, tensor<46xf32>) -> tensor<46xi1>
    %7 = stablehlo.sqrt %3 : tensor<46xf32>
    %8 = stablehlo.constant dense<3.0e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %10 = stablehlo.subtract %7, %9 : tensor<46xf32>
    %11 = stablehlo.constant dense<2.5e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %13 = stablehlo.subtract %3, %12 : tensor<46xf32>
    %14 = stablehlo.select %6, %13, %10 : tensor<46xi1>, tensor<46xf32>
    %15 = stablehlo.constant dense<-2.00214257e-04> : tensor<f32>
    %16 = stablehlo.constant dense<2.81022636e-08> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %18 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %19 = stablehlo.select %6, %17, %18 : tensor<46xi1>, tensor<46xf32>
    %20 = stablehlo.constant dense<1.00950558e-04> : tensor<f32>
    %21 = stablehlo.constant dense<3.43273939e-07> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %23 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %24 = stablehlo.select %6, %22, %23 : tensor<46xi1>, tensor<46xf32>
    %25 = stablehlo.multiply %19, %14 : tensor<46xf32>
    %26 = stablehlo.add %24, %25 : tensor<46xf32>
    %27 = stablehlo.constant dense<1.34934322e-03> : tensor<f32>
    %28 = stablehlo.constant dense<-3.5233877e-06> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %30 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %31 = stablehlo.select %6, %29, %30 : tensor<46xi1>, tensor<46xf32>
    %32 = stablehlo.multiply %26, %14 : tensor<46xf32>
    %33 = stablehlo.add %31, %32 : tensor<46xf32>
    %34 = stablehlo.constant dense<-3.67342844e-03> : tensor<f32>
    %35 = stablehlo.constant dense<-4.39150654e-06> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %37 = stablehlo.broadcast_in_dim %34, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %38 = stablehlo.select %6, %36, %37 : tensor<46xi1>, tensor<46xf32>
    %39 = stablehlo.multiply %33, %14 : tensor<46xf32>
    %40 = stablehlo.add %38, %39 : tensor<46xf32>
    %41 = stablehlo.constant dense<5.73950773e-03> : tensor<f32>
    %42 = stablehlo.constant dense<2.1858087e-04> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %44 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %45 = stablehlo.select %6, %43, %44 : tensor<46xi1>, tensor<46xf32>
    %46 = stablehlo.multiply %40, %14 : tensor<46xf32>
    %47 = stablehlo.add %45, %46 : tensor<46xf32>
    %48 = stablehlo.constant dense<-7.6224613e-03> : tensor<f32>
    %49 = stablehlo.constant dense<-1.25372503e-03> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %51 = stablehlo.broadcast_in_dim %48, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %52 = stablehlo.select %6, %50, %51 : tensor<46xi1>, tensor<46xf32>
    %53 = stablehlo.multiply %47, %14 : tensor<46xf32>
    %54 = stablehlo.add %52, %53 : tensor<46xf32>
    %55 = stablehlo.constant dense<9.43887047e-03> : tensor<f32>
    %56 = stablehlo.constant dense<-4.17768164e-03> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %58 = stablehlo.broadcast_in_dim %55, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %59 = stablehlo.select %6, %57, %58 : tensor<46xi1>, tensor<46xf32>
    %60 = stablehlo.multiply %54, %14 : tensor<46xf32>
    %61 = stablehlo.add %59, %60 : tensor<46xf32>
    %62 = stablehlo.constant dense<1.00167406e+00> : tensor<f32>
    %63 = stablehlo.constant dense<2.46640727e-01> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %65 = stablehlo.broadcast_in_dim %62, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %66 = stablehlo.select %6, %64, %65 : tensor<46xi1>, tensor<46xf32>
    %67 = stablehlo.multiply %61, %14 : tensor<46xf32>
    %68 = stablehlo.add %66, %67 : tensor<46xf32>
    %69 = stablehlo.constant dense<2.83297682e+00> : tensor<f32>
    %70 = stablehlo.constant dense<1.50140941e+00> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %72 = stablehlo.broadcast_in_dim %69, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %73 = stablehlo.select %6, %71, %72 : tensor<46xi1>, tensor<46xf32>
    %74 = stablehlo.multiply %68, %14 : tensor<46xf32>
    %75 = stablehlo.add %73, %74 : tensor<46xf32>
    %76 = stablehlo.multiply %75, %arg0 : tensor<46xf32>
    %77 = stablehlo.abs %arg0 : tensor<46xf32>
    %78 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %78, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %80 = stablehlo.compare EQ, %77, %79, FLOAT : (tensor<46xf32>, tensor<46xf32>) -> tensor<46xi1>
    %81 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<f32>) -> tensor<46xf32>
    %83 = stablehlo.multiply %arg0, %82 : tensor<46xf32>
    %84 = stablehlo.select %80, %83, %76 : tensor<46xi1>, tensor<46xf32>
    return %84 : tensor<46xf32>
  }
}

module @threefry2x32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xui32>, %arg1: tensor<3xui32>, %arg2: tensor<3xui32>, %arg3: tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>) {
    %0 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.xor %arg0, %arg1 : tensor<3xui32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %3 = stablehlo.xor %1, %2 : tensor<3xui32>
    %4 = stablehlo.add %arg2, %arg0 : tensor<3xui32>
    %5 = stablehlo.add %arg3, %arg1 : tensor<3xui32>
    %6 = stablehlo.add %4, %5 : tensor<3xui32>
    %7 = stablehlo.constant dense<19> : tensor<ui32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %9 = stablehlo.shift_right_logical %5, %8 : tensor<3xui32>
    %10 = stablehlo.constant dense<13> : tensor<ui32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %12 = stablehlo.shift_left %5, %11 : tensor<3xui32>
    %13 = stablehlo.or %12, %9 : tensor<3xui32>
    %14 = stablehlo.xor %6, %13 : tensor<3xui32>
    %15 = stablehlo.add %6, %14 : tensor<3xui32>
    %16 = stablehlo.constant dense<17> : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %18 = stablehlo.shift_right_logical %14, %17 : tensor<3xui32>
    %19 = stablehlo.constant dense<15> : tensor<ui32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %21 = stablehlo.shift_left %14, %20 : tensor<3xui32>
    %22 = stablehlo.or %21, %18 : tensor<3xui32>
    %23 = stablehlo.xor %15, %22 : tensor<3xui32>
    %24 = stablehlo.add %15, %23 : tensor<3xui32>
    %25 = stablehlo.constant dense<6> : tensor<ui32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %27 = stablehlo.shift_right_logical %23, %26 : tensor<3xui32>
    %28 = stablehlo.constant dense<26> : tensor<ui32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %30 = stablehlo.shift_left %23, %29 : tensor<3xui32>
    %31 = stablehlo.or %30, %27 : tensor<3xui32>
    %32 = stablehlo.xor %24, %31 : tensor<3xui32>
    %33 = stablehlo.add %24, %32 : tensor<3xui32>
    %34 = stablehlo.shift_right_logical %32, %29 : tensor<3xui32>
    %35 = stablehlo.shift_left %32, %26 : tensor<3xui32>
    %36 = stablehlo.or %35, %34 : tensor<3xui32>
    %37 = stablehlo.xor %33, %36 : tensor<3xui32>
    %38 = stablehlo.add %33, %arg1 : tensor<3xui32>
    %39 = stablehlo.constant dense<1> : tensor<ui32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %41 = stablehlo.add %3, %40 : tensor<3xui32>
    %42 = stablehlo.add %37, %41 : tensor<3xui32>
    %43 = stablehlo.add %38, %42 : tensor<3xui32>
    %44 = stablehlo.shift_right_logical %42, %20 : tensor<3xui32>
    %45 = stablehlo.shift_left %42, %17 : tensor<3xui32>
    %46 = stablehlo.or %45, %44 : tensor<3xui32>
    %47 = stablehlo.xor %43, %46 : tensor<3xui32>
    %48 = stablehlo.add %43, %47 : tensor<3xui32>
    %49 = stablehlo.constant dense<3> : tensor<ui32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %51 = stablehlo.shift_right_logical %47, %50 : tensor<3xui32>
    %52 = stablehlo.constant dense<29> : tensor<ui32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %54 = stablehlo.shift_left %47, %53 : tensor<3xui32>
    %55 = stablehlo.or %54, %51 : tensor<3xui32>
    %56 = stablehlo.xor %48, %55 : tensor<3xui32>
    %57 = stablehlo.add %48, %56 : tensor<3xui32>
    %58 = stablehlo.constant dense<16> : tensor<ui32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %60 = stablehlo.shift_right_logical %56, %59 : tensor<3xui32>
    %61 = stablehlo.shift_left %56, %59 : tensor<3xui32>
    %62 = stablehlo.or %61, %60 : tensor<3xui32>
    %63 = stablehlo.xor %57, %62 : tensor<3xui32>
    %64 = stablehlo.add %57, %63 : tensor<3xui32>
    %65 = stablehlo.constant dense<8> : tensor<ui32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %67 = stablehlo.shift_right_logical %63, %66 : tensor<3xui32>
    %68 = stablehlo.constant dense<24> : tensor<ui32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %70 = stablehlo.shift_left %63, %69 : tensor<3xui32>
    %71 = stablehlo.or %70, %67 : tensor<3xui32>
    %72 = stablehlo.xor %64, %71 : tensor<3xui32>
    %73 = stablehlo.add %64, %3 : tensor<3xui32>
    %74 = stablehlo.constant dense<2> : tensor<ui32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %76 = stablehlo.add %arg0, %75 : tensor<3xui32>
    %77 = stablehlo.add %72, %76 : tensor<3xui32>
    %78 = stablehlo.add %73, %77 : tensor<3xui32>
    %79 = stablehlo.shift_right_logical %77, %8 : tensor<3xui32>
    %80 = stablehlo.shift_left %77, %11 : tensor<3xui32>
    %81 = stablehlo.or %80, %79 : tensor<3xui32>
    %82 = stablehlo.xor %78, %81 : tensor<3xui32>
    %83 = stablehlo.add %78, %82 : tensor<3xui32>
    %84 = stablehlo.shift_right_logical %82, %17 : tensor<3xui32>
    %85 = stablehlo.shift_left %82, %20 : tensor<3xui32>
    %86 = stablehlo.or %85, %84 : tensor<3xui32>
    %87 = stablehlo.xor %83, %86 : tensor<3xui32>
    %88 = stablehlo.add %83, %87 : tensor<3xui32>
    %89 = stablehlo.shift_right_logical %87, %26 : tensor<3xui32>
    %90 = stablehlo.shift_left %87, %29 : tensor<3xui32>
    %91 = stablehlo.or %90, %89 : tensor<3xui32>
    %92 = stablehlo.xor %88, %91 : tensor<3xui32>
    %93 = stablehlo.add %88, %92 : tensor<3xui32>
    %94 = stablehlo.shift_right_logical %92, %29 : tensor<3xui32>
    %95 = stablehlo.shift_left %92, %26 : tensor<3xui32>
    %96 = stablehlo.or %95, %94 : tensor<3xui32>
    %97 = stablehlo.xor %93, %96 : tensor<3xui32>
    %98 = stablehlo.add %93, %arg0 : tensor<3xui32>
    %99 = stablehlo.constant dense<3> : tensor<ui32>
    %100 = stablehlo.broadcast_in_dim %99, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %101 = stablehlo.add %arg1, %100 : tensor<3xui32>
    %102 = stablehlo.add %97, %101 : tensor<3xui32>
    %103 = stablehlo.add %98, %102 : tensor<3xui32>
    %104 = stablehlo.shift_right_logical %102, %20 : tensor<3xui32>
    %105 = stablehlo.shift_left %102, %17 : tensor<3xui32>
    %106 = stablehlo.or %105, %104 : tensor<3xui32>
    %107 = stablehlo.xor %103, %106 : tensor<3xui32>
    %108 = stablehlo.add %103, %107 : tensor<3xui32>
    %109 = stablehlo.shift_right_logical %107, %50 : tensor<3xui32>
    %110 = stablehlo.shift_left %107, %53 : tensor<3xui32>
    %111 = stablehlo.or %110, %109 : tensor<3xui32>
    %112 = stablehlo.xor %108, %111 : tensor<3xui32>
    %113 = stablehlo.add %108, %112 : tensor<3xui32>
    %114 = stablehlo.shift_right_logical %112, %59 : tensor<3xui32>
    %115 = stablehlo.shift_left %112, %59 : tensor<3xui32>
    %116 = stablehlo.or %115, %114 : tensor<3xui32>
    %117 = stablehlo.xor %113, %116 : tensor<3xui32>
    %118 = stablehlo.add %113, %117 : tensor<3xui32>
    %119 = stablehlo.shift_right_logical %117, %66 : tensor<3xui32>
    %120 = stablehlo.shift_left %117, %69 : tensor<3xui32>
    %121 = stablehlo.or %120, %119 : tensor<3xui32>
    %122 = stablehlo.xor %118, %121 : tensor<3xui32>
    %123 = stablehlo.add %118, %arg1 : tensor<3xui32>
    %124 = stablehlo.constant dense<4> : tensor<ui32>
    %125 = stablehlo.broadcast_in_dim %124, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %126 = stablehlo.add %3, %125 : tensor<3xui32>
    %127 = stablehlo.add %122, %126 : tensor<3xui32>
    %128 = stablehlo.add %123, %127 : tensor<3xui32>
    %129 = stablehlo.shift_right_logical %127, %8 : tensor<3xui32>
    %130 = stablehlo.shift_left %127, %11 : tensor<3xui32>
    %131 = stablehlo.or %130, %129 : tensor<3xui32>
    %132 = stablehlo.xor %128, %131 : tensor<3xui32>
    %133 = stablehlo.add %128, %132 : tensor<3xui32>
    %134 = stablehlo.shift_right_logical %132, %17 : tensor<3xui32>
    %135 = stablehlo.shift_left %132, %20 : tensor<3xui32>
    %136 = stablehlo.or %135, %134 : tensor<3xui32>
    %137 = stablehlo.xor %133, %136 : tensor<3xui32>
    %138 = stablehlo.add %133, %137 : tensor<3xui32>
    %139 = stablehlo.shift_right_logical %137, %26 : tensor<3xui32>
    %140 = stablehlo.shift_left %137, %29 : tensor<3xui32>
    %141 = stablehlo.or %140, %139 : tensor<3xui32>
    %142 = stablehlo.xor %138, %141 : tensor<3xui32>
    %143 = stablehlo.add %138, %142 : tensor<3xui32>
    %144 = stablehlo.shift_right_logical %142, %29 : tensor<3xui32>
    %145 = stablehlo.shift_left %142, %26 : tensor<3xui32>
    %146 = stablehlo.or %145, %144 : tensor<3xui32>
    %147 = stablehlo.xor %143, %146 : tensor<3xui32>
    %148 = stablehlo.add %143, %3 : tensor<3xui32>
    %149 = stablehlo.constant dense<5> : tensor<ui32>
    %150 = stablehlo.broadcast_in_dim %149, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %151 = stablehlo.add %arg0, %150 : tensor<3xui32>
    %152 = stablehlo.add %147, %151 : tensor<3xui32>
    return %148, %152 : tensor<3xui32>, tensor<3xui32>
  }
}
