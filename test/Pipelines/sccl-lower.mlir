// RUN: sccl-opt %s -sccl-lower | FileCheck %s
// RUN: sccl-opt %s -sccl-lower=blocks-per-link=3 | FileCheck %s --check-prefix=BLOCKS
// RUN: sccl-opt %s -coll-check-schedule -coll-choose-transport -coll-lower-schedule -coll-fuse-reductions -coll-insert-flag-sync -coll-remove-redundant-sync -coll-check-program | FileCheck %s
// RUN: sccl-opt %s -sccl-lower=steps | FileCheck %s --check-prefix=STEPS
// RUN: sccl-opt %s -coll-check-schedule -coll-choose-transport -coll-lower-schedule -coll-fuse-reductions -coll-insert-step-barriers -coll-check-program | FileCheck %s --check-prefix=STEPS
// RUN: sccl-opt %s -sccl-lower=transport=dma | FileCheck %s --check-prefix=DMA
// RUN: sccl-opt %s -sccl-lower="transport=pull through-scratch double-buffer" | FileCheck %s --check-prefix=PULL
// RUN: sccl-opt %s -sccl-lower=transport=auto | FileCheck %s
// RUN: sccl-opt %s -sccl-lower | sccl-opt -sccl-lower | FileCheck %s

// The pipeline is the row of its passes, and keeps a program that is lowered
// already. Copy engines imply a kernel for each step.

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}

// CHECK-NOT: coll.schedule
// CHECK:      coll.program @bc of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
// CHECK-NEXT:   coll.rank 0 scratch = 0 {
// CHECK-NEXT:     coll.channel to 0 {
// CHECK-NEXT:       coll.copy chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.channel to 1 {
// CHECK-NEXT:       coll.wait ready from 1 value = 1
// CHECK-NEXT:       coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:       coll.signal arrival to 1 value = 1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   coll.rank 1 scratch = 0 {
// CHECK-NEXT:     coll.channel to 1 {
// CHECK-NEXT:       coll.signal ready to 0 value = 1
// CHECK-NEXT:       coll.wait arrival from 0 value = 1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// BLOCKS: coll.program @bc {{.*}} blocks = 3
// STEPS:      coll.channel to 1 {
// STEPS-NEXT: coll.barrier
// STEPS-NEXT: coll.put chunk 0 from input[0] to output[0] step = 0
// STEPS-NEXT: coll.barrier
// STEPS-NOT:  coll.{{signal|wait}}
// DMA:        coll.channel to 1 {
// DMA-NEXT:   coll.barrier
// DMA-NEXT:   coll.put dma chunk 0 from input[0] to output[0] step = 0
// DMA-NEXT:   coll.barrier
// PULL:       coll.program @bc {{.*}} double_buffered
// PULL:       coll.wait arrival from 0 channel = 0 value = 1
// PULL-NEXT:  coll.get chunk 0 from scratch[0] to output[0] step = 0
coll.schedule @bc of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
