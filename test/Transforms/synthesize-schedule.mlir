// REQUIRES: z3
// RUN: sccl-opt %s -coll-synthesize-schedule | FileCheck %s
// RUN: sccl-opt %s -coll-synthesize-schedule="engine=z3 encoding=paper seed=3" -coll-check-schedule | FileCheck %s
// RUN: sccl-opt %s -coll-synthesize-schedule="engine=z3 timeout=60" -coll-check-schedule | FileCheck %s

// The schedules of these instances are unique, up to the order of sends.

// CHECK-NOT: coll.synthesize
// CHECK: coll.topology @ring3
coll.topology @ring3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
}

// CHECK-LABEL: coll.schedule @ag of all_gather on @ring3 chunks = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 0 over 0 -> 1
// CHECK-DAG:       coll.send 1 over 1 -> 2
// CHECK-DAG:       coll.send 2 over 2 -> 0
// CHECK:         }
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 0 over 1 -> 2
// CHECK-DAG:       coll.send 1 over 2 -> 0
// CHECK-DAG:       coll.send 2 over 0 -> 1
// CHECK:         }
// CHECK-NEXT:  }
coll.synthesize @ag of all_gather on @ring3 chunks = 1 steps = 2 rounds = 2

// CHECK-LABEL: coll.schedule @bc of broadcast on @ring3 chunks = 2 root = 1 {
// CHECK-NEXT:    coll.step rounds = 2 {
// CHECK-DAG:       coll.send 0 to 1 over 1 -> 2
// CHECK:         }
// CHECK-NEXT:    coll.step rounds = 2 {
// CHECK-DAG:       coll.send 0 to 1 over 2 -> 0
// CHECK:         }
// CHECK-NEXT:  }
coll.synthesize @bc of broadcast on @ring3 chunks = 2 root = 1 steps = 2 rounds = 4

coll.collective @rotate ranks = 3 chunks = 1 distinct = 3 {
  coll.pre 0 has [0]
  coll.pre 1 has [1]
  coll.pre 2 has [2]
  coll.post 0 has [2]
  coll.post 1 has [0]
  coll.post 2 has [1]
}
// CHECK-LABEL: coll.schedule @custom of @rotate on @ring3 chunks = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 0 over 0 -> 1
// CHECK-DAG:       coll.send 1 over 1 -> 2
// CHECK-DAG:       coll.send 2 over 2 -> 0
// CHECK:         }
// CHECK-NEXT:  }
coll.synthesize @custom of @rotate on @ring3 chunks = 1 steps = 1 rounds = 1
