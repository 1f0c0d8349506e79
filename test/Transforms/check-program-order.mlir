// RUN: sccl-opt %s -split-input-file -verify-diagnostics -pass-pipeline="builtin.module(coll-lower-schedule,coll.program(coll-insert-flag-sync,coll-check-program))"
// RUN: sccl-opt %S/../Tools/Inputs/turned4-all_reduce.mlir -sccl-lower=order=any -o /dev/null
// RUN: sccl-opt %S/../Tools/Inputs/mesh3-all_reduce.mlir -o /dev/null -verify-diagnostics -pass-pipeline="builtin.module(coll-lower-schedule,coll.program(coll-insert-flag-sync,coll-check-program))"
// RUN: not sccl-opt %S/../Tools/Inputs/mesh3-all_reduce.mlir -o /dev/null -pass-pipeline="builtin.module(coll-lower-schedule{order=any},coll.program(coll-insert-flag-sync,coll-check-program))" 2>&1 | FileCheck %s
// CHECK: combines chunk 0 in different orders: rank 0 ends with (2 (0 1)), rank 2 with (1 (0 2)) (T1)

// Four ranks pair others, whatever comes first.
coll.topology @mesh4 ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 3 unlimited
  coll.link 3 -> 0 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 3 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 3 -> 1 unlimited
}
// expected-error @+1 {{'coll.program' op combines chunk 0 in different orders: rank 0 ends with ((0 3) (1 2)), rank 1 with ((0 1) (2 3)) (T1)}}
coll.schedule @turned of all_reduce on @mesh4 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 1 -> 2
    coll.reduce 0 over 2 -> 3
    coll.reduce 0 over 3 -> 0
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 3
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 3 -> 1
  }
}

// -----

// The same sums in halves: all ranks pair the same ones.
coll.topology @mesh4 ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 2 -> 3 unlimited
  coll.link 3 -> 2 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 3 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 3 -> 1 unlimited
}
coll.schedule @halves of all_reduce on @mesh4 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 2 -> 3
    coll.reduce 0 over 3 -> 2
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 3
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 3 -> 1
  }
}

// -----

// Two ranks add the same two numbers, and addition is commutative.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.schedule @exchange of all_reduce on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 1 -> 0
  }
}

// -----

// One rank adds, the others get copies.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}
coll.schedule @centre of all_reduce on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2
  }
}

// -----

// Copies need no orders.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.schedule @gather of all_gather on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}
