// RUN: sccl-opt %s --verify-roundtrip | FileCheck %s
// RUN: sccl-opt %s --mlir-print-op-generic | sccl-opt | FileCheck %s
// RUN: sccl-opt %s -coll-check-schedule -o /dev/null

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// CHECK-LABEL: coll.schedule @ways of all_reduce on @line chunks = 2 {
// CHECK:         coll.reduce 0, 1 over 0 -> 1 as 1
// CHECK:         coll.keep input 1 over 2 -> 1 by push as 32
// CHECK:         coll.reduce kept [1] 0, 1 over 1 -> 2
// CHECK:         coll.reduce input kept [32] 1 over 1 -> 0
coll.schedule @ways of all_reduce on @line chunks = 2 {
  coll.step rounds = 2 {
    coll.reduce 0, 1 over 0 -> 1 as 1
    coll.reduce 0 over 2 -> 1
    coll.keep input 1 over 2 -> 1 by push as 32
  }
  coll.step rounds = 4 {
    coll.send 0 over 1 -> 0
    coll.reduce kept [1] 0, 1 over 1 -> 2
    coll.reduce input 0 over 1 -> 2
    coll.reduce input 1 over 1 -> 2
    coll.reduce input kept [32] 1 over 1 -> 0
    coll.reduce input 1 over 2 -> 1
  }
}
