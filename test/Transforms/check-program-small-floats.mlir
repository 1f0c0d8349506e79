// RUN: sccl-opt %s -o /dev/null -pass-pipeline="builtin.module(coll-lower-schedule{order=any},coll.program(coll-fuse-reductions,coll-insert-flag-sync,coll-check-program))"
// RUN: not sccl-opt %s -o /dev/null -pass-pipeline="builtin.module(coll-lower-schedule{order=any},coll.program(coll-fuse-reductions,coll-insert-flag-sync,coll-check-program{small-floats}))" 2>&1 | FileCheck %s
// RUN: sccl-opt %s -o /dev/null -pass-pipeline="builtin.module(coll-lower-schedule{order=any},coll.program(coll-fuse-reductions{one-by-one},coll-insert-flag-sync,coll-check-program{small-floats}))"
// RUN: sccl-opt %s -sccl-lower=element=bf16 -o /dev/null
// CHECK: combines chunk 0 in different orders: rank 0 ends with (2 0 1), rank 1 with (2 (0 1)) (T1)

// Rank 0 adds two inputs to its own at once, and rank 1 one after the other:
// sums of bf16 are rounded once, and twice.
coll.topology @mesh3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 2 -> 1 unlimited
  coll.link 0 -> 2 unlimited
}
coll.schedule @unlike of all_reduce on @mesh3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce input 0 over 2 -> 1
    coll.send 0 over 0 -> 2
  }
}
