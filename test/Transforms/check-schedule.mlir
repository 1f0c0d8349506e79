// RUN: sccl-opt %s -coll-check-schedule | FileCheck %s

// Schedules that are right pass through unchanged.

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}

// CHECK-LABEL: coll.schedule @bc of broadcast on @line3 chunks = 1 root = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-NEXT:      coll.send 0 over 1 -> 0
// CHECK-NEXT:      coll.send 0 over 1 -> 2
coll.schedule @bc of broadcast on @line3 chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2
  }
}

// Two rounds let two chunks through a link of bandwidth 1.
// CHECK-LABEL: coll.schedule @two_rounds
// CHECK-NEXT:    coll.step rounds = 2 {
coll.schedule @two_rounds of broadcast on @line3 chunks = 2 root = 1 {
  coll.step rounds = 2 {
    coll.send 0 over 1 -> 0
    coll.send 1 over 1 -> 0
    coll.send 0 over 1 -> 2
    coll.send 1 over 1 -> 2
  }
}

// CHECK-LABEL: coll.schedule @sum of all_reduce
// CHECK: coll.reduce 0 over 0 -> 1
// CHECK: coll.send 0 over 1 -> 2
coll.schedule @sum of all_reduce on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2
  }
}
