// RUN: sccl-opt %s -split-input-file -verify-diagnostics -pass-pipeline="builtin.module(coll-lower-schedule,coll.program(coll-insert-flag-sync,coll-check-program{identical=true}))"
// RUN: sccl-opt %S/../Tools/Inputs/mesh3-all_reduce.mlir -sccl-lower -o /dev/null

// Three ranks add in three orders.
coll.topology @mesh3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 2 -> 1 unlimited
}
// expected-error @+1 {{'coll.program' op combines chunk 0 in different orders: rank 0 ends with (2 (0 1)), rank 2 with (1 (0 2)) (T1)}}
coll.schedule @direct of all_reduce on @mesh3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 1 -> 2
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 2 -> 1
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
