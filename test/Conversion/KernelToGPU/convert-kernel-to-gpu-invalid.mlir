// RUN: not sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=target=spirv 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=block-size=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=block-size=100 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: not sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=block-size=2048 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=element=f8 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=reduction=mean 2>&1 | FileCheck %s --check-prefix=REDUCTION
// RUN: not sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host=element=f8 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host=reduction=mean 2>&1 | FileCheck %s --check-prefix=REDUCTION

// Copies have no use for either, but a mistake is one.
// RUN: sed '/coll.local_reduce/d' %s > %t.mlir
// RUN: not sccl-opt %t.mlir -convert-coll-to-kernel -convert-kernel-to-gpu=element=f8 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not sccl-opt %t.mlir -convert-coll-to-kernel -convert-kernel-to-gpu=reduction=mean 2>&1 | FileCheck %s --check-prefix=REDUCTION
// RUN: not sccl-opt %t.mlir -convert-coll-to-kernel=host -convert-kernel-to-host=element=f8 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not sccl-opt %t.mlir -convert-coll-to-kernel=host -convert-kernel-to-host=reduction=mean 2>&1 | FileCheck %s --check-prefix=REDUCTION

// TARGET: error: unknown target 'spirv', expected nvvm or rocdl
// ZERO: error: block-size is 0, expected a multiple of 64 between 64 and 1024
// ODD: error: block-size is 100, expected a multiple of 64 between 64 and 1024
// LARGE: error: block-size is 2048, expected a multiple of 64 between 64 and 1024
// ELEMENT: option: unknown element type 'f8', expected f16, bf16, f32, f64
// REDUCTION: option: unknown reduction 'mean', expected sum, prod, min, max or avg

coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 bandwidth = 1
}
coll.program @sum of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.local_reduce chunk 0 from input[0], input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
}
