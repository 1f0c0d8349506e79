// REQUIRES: z3
// RUN: sccl-opt %s -coll-synthesize-schedule -coll-check-schedule | FileCheck %s
// RUN: sccl-opt %s -coll-synthesize-schedule=engine=z3 -coll-check-schedule | FileCheck %s
// RUN: sccl-opt %s -mlir-print-op-generic | sccl-opt | FileCheck %s --check-prefix=ASKED

// The schedule has a way that says its order, so that programs keep it.

coll.topology @ring4 ranks = 4 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 2 -> 3 bandwidth = 1
  coll.link 3 -> 2 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 1 -> 3 bandwidth = 1
  coll.link 3 -> 1 bandwidth = 1
}

// ASKED: coll.synthesize @sum of all_reduce on @ring4 chunks = 1 steps = 2 rounds = 2 sum_order = "tree"
// CHECK-LABEL: coll.schedule @sum of all_reduce on @ring4 chunks = 1
// CHECK-SAME:    ways = [#coll.way<sum_order = "tree">]
coll.synthesize @sum of all_reduce on @ring4 chunks = 1 steps = 2 rounds = 2 sum_order = "tree"
