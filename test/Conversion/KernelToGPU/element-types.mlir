// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=f64 reduction=prod" | FileCheck %s --check-prefix=F64
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=f32 reduction=min" | FileCheck %s --check-prefix=F32
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=i8 reduction=max" | FileCheck %s --check-prefix=I8
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=u8 reduction=max" | FileCheck %s --check-prefix=U8
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=i32 reduction=sum" | FileCheck %s --check-prefix=I32
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=u64 reduction=min" | FileCheck %s --check-prefix=U64
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host="element=i64 reduction=max" | FileCheck %s --check-prefix=HOST
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=f16 reduction=sum" | FileCheck %s --check-prefix=F16
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host="element=f16 reduction=sum" | FileCheck %s --check-prefix=HOST16
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=f8e4m3 reduction=min" | FileCheck %s --check-prefix=F8

// Vectors are 16 bytes wide; signedness is in the operation, not in the type.
// F64: arith.mulf {{.*}} : vector<2xf64>
// F64: arith.mulf {{.*}} : f64
// F32: arith.minimumf {{.*}} : vector<4xf32>
// I8:  arith.maxsi {{.*}} : vector<16xi8>
// U8:  arith.maxui {{.*}} : vector<16xi8>
// I32: arith.addi {{.*}} : vector<4xi32>
// U64: arith.minui {{.*}} : vector<2xi64>
// HOST: arith.maxsi {{.*}} : i64

// Halves are converted by instructions on a GPU, and with integers on the host;
// bytes are combined four at a time.
// F16: arith.extf {{.*}} : vector<8xf16> to vector<8xf32>
// F16: arith.addf {{.*}} : vector<8xf32>
// F16: arith.truncf {{.*}} : vector<8xf32> to vector<8xf16>
// HOST16-NOT: arith.extf
// HOST16-NOT: arith.truncf
// HOST16: arith.addf {{.*}} : f32
// HOST16-NOT: arith.truncf
// F8: llvm.load {{.*}} -> vector<16xi8>
// F8: arith.minsi {{.*}} : vector<4xi8>

coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 bandwidth = 1
}
coll.program @sum of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}
