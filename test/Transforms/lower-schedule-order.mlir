// RUN: sccl-opt %s -split-input-file -coll-lower-schedule -coll-fuse-reductions | FileCheck %s
// RUN: sccl-opt %s -split-input-file -coll-lower-schedule=order=any -coll-fuse-reductions | FileCheck %s --check-prefix=ANY

// All ranks add up 0, 1, 2 and 3 in this order: but for the first, a rank puts
// its input beside what has arrived.
coll.topology @mesh4 ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 0 -> 3 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 1 -> 3 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 2 -> 1 unlimited
  coll.link 2 -> 3 unlimited
  coll.link 3 -> 0 unlimited
  coll.link 3 -> 1 unlimited
  coll.link 3 -> 2 unlimited
}
// CHECK-LABEL: coll.program @direct
// CHECK: coll.rank 0 scratch = 3
// CHECK: coll.channel to 0 {
// CHECK-NEXT: coll.local_reduce chunk 0 from input[0], scratch[0] terms = 3 by 1 to output[0] step = 0 final
// CHECK: coll.rank 2 scratch = 4
// CHECK: coll.channel to 2 {
// CHECK-NEXT: coll.copy chunk 0 from input[0] to scratch[2] step = 0
// CHECK-NEXT: coll.local_reduce chunk 0 from scratch[0], scratch[1] terms = 3 by 1 to output[0] step = 0 final
// CHECK: coll.channel to 3 {
// CHECK-NEXT: coll.put chunk 0 from input[0] to scratch[2]
// ANY-LABEL: coll.program @direct
// ANY-NOT: coll.copy
coll.schedule @direct of all_reduce on @mesh4 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 0 -> 3
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 1 -> 2
    coll.reduce 0 over 1 -> 3
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 2 -> 1
    coll.reduce 0 over 2 -> 3
    coll.reduce 0 over 3 -> 0
    coll.reduce 0 over 3 -> 1
    coll.reduce 0 over 3 -> 2
  }
}
