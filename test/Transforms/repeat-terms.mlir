// RUN: sccl-opt %s -coll-repeat-transfers | FileCheck %s
// RUN: sccl-opt %s -coll-repeat-transfers -coll-insert-flag-sync -coll-check-program -o %t.mlir
// RUN: sccl-opt %t.mlir -convert-coll-to-kernel -collk-tabulate=code-shape=table | FileCheck %s --check-prefix=ROWS
// RUN: sccl run %t.mlir --bytes=4104 --element=bf16 --code-shape=table | FileCheck %s --check-prefix=RIGHT
// RUN: sccl run %t.mlir --bytes=4104 --element=f64 --reduction=avg | FileCheck %s --check-prefix=RIGHT

// Reductions of as many terms, as far apart, are repetitions of each other.
// CHECK:      coll.local_reduce chunk 0 from input[0], scratch[0] terms = 2 by 3 to output[0] step = 0 final
// CHECK-NEXT: coll.local_reduce chunk 1 times = 2 by 1 from input[1 by 1], scratch[1 by 1] terms = 2 by 3 to scratch[6 by 1] step = 0 final

// A row with terms is not repeated; the slot of its second source has the step
// from one term to the next.
// ROWS:      %[[TERMS:.*]] = collk.slot %{{.*}}[%c0_i32, %c0_i32] step %c0_i32, %c3_i32 : !collk.slot
// ROWS:      collk.reduce %{{.*}}, %[[TERMS]] to %{{.*}} chunks %c1_i32 at %c0_i32 terms %c2_i32 average
// ROWS-COUNT-2: collk.reduce {{.*}} terms %c2_i32 average
// ROWS-NOT:  collk.reduce
// ROWS:      collk.kernel @sccl_table
// ROWS:        collk.reduce {{.*}} terms %{{[^ ]+}} average
// ROWS-NOT:    collk.reduce

// RIGHT: {{^}}reduce_scatter, {{.*}}: #wrong 0 of

coll.topology @star ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 2 -> 0 unlimited
}
coll.program @scattered of reduce_scatter on @star chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 8 {
    coll.channel to 0 {
      coll.local_reduce chunk 0 from input[0], scratch[0] terms = 2 by 3 to output[0] step = 0 final
      coll.local_reduce chunk 1 from input[1], scratch[1] terms = 2 by 3 to scratch[6] step = 0 final
      coll.local_reduce chunk 2 from input[2], scratch[2] terms = 2 by 3 to scratch[7] step = 0 final
    }
    coll.channel to 1 {
      coll.put chunk 1 from scratch[6] to output[0] step = 1
    }
    coll.channel to 2 {
      coll.put chunk 2 from scratch[7] to output[0] step = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 times = 3 by 1 from input[0 by 1] to scratch[0 by 1] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 times = 3 by 1 from input[0 by 1] to scratch[3 by 1] step = 0
    }
  }
}
