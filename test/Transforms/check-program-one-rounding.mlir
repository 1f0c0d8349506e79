// RUN: not sccl-opt %s -o /dev/null -split-input-file -pass-pipeline="builtin.module(coll-lower-schedule,coll.program(coll-fuse-reductions,coll-insert-flag-sync,coll-check-program{one-rounding}))" 2>&1 | FileCheck %s --implicit-check-not=error:
// RUN: sccl-opt %s -o /dev/null -split-input-file -sccl-lower="one-rounding"
// RUN: sccl-opt %s -o /dev/null -split-input-file -sccl-lower="element=i8 one-rounding"
// RUN: not sccl-opt %s -o /dev/null -split-input-file -sccl-lower="element=bf16 one-rounding order=any" 2>&1 | FileCheck %s --implicit-check-not=error:
// RUN: not sccl-opt %s -o /dev/null -split-input-file -sccl-lower="element=f16 one-rounding order=tree" 2>&1 | FileCheck %s --check-prefix=TREE --implicit-check-not=error:

// Rank 1 sends on a sum of two, which is rounded before rank 2 adds it.
// CHECK: error: 'coll.program' op rounds chunk 0 2 times: rank 2 ends with (2 (0 1)) (T3)
// TREE: error: 'coll.program' op rounds chunk 0 2 times: rank 2 ends with (2 (0 1)) (T3)
coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
coll.schedule @partial of reduce on @line chunks = 1 root = 2 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 2
  }
}

// -----

// The owner gets all inputs and adds them at once; by a tree it cannot.
// TREE: error: 'coll.program' op rounds chunk 0 2 times: rank 2 ends with (2 (0 1)) (T3)
coll.topology @star ranks = 3 {
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 2 unlimited
}
coll.schedule @owner of reduce on @star chunks = 1 root = 2 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 2
  }
}

// -----

// Two inputs are rounded once in any order.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @two of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
}
