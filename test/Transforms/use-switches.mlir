// Switches copy what goes to all their ranks, and reduce what comes from them,
// by way of the same slots of scratch.
//
// RUN: sccl-opt %s -split-input-file --pass-pipeline='builtin.module(coll.schedule(coll-choose-transport{in-network}),coll-lower-schedule,coll.program(coll-fuse-reductions,coll-use-switches{explain}))' -verify-diagnostics | FileCheck %s
// RUN: sccl-opt %s -split-input-file -sccl-lower='in-network order=any' 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: sccl-opt %s -split-input-file --pass-pipeline='builtin.module(coll-cut-into-pieces{pieces=2},coll.schedule(coll-choose-transport{in-network}),coll-lower-schedule,coll.program(coll-fuse-reductions,coll-use-switches))' 2>&1 | FileCheck %s --check-prefix=APART

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.switch [0, 1, 2] multicast reduces
}

// In two steps: rank r has the sum of chunk r, and sends it to all. The result
// comes back to the rank as well, and to the output with those of others.
// CHECK-LABEL: coll.program @two_steps
// CHECK: coll.rank 1 scratch = 7
// CHECK-NEXT: coll.channel to 1 {
// CHECK-NEXT: coll.copy chunk 0 count = 3 from input[0] to scratch[0] step = 0
// CHECK-NEXT: coll.load_reduce chunk 1 from scratch[1] of [0, 1, 2] to scratch[6] step = 0 final
// CHECK-NEXT: coll.multicast chunk 1 from scratch[6] to scratch[4] of 0 step = 1
// CHECK-NEXT: coll.multicast chunk 1 from scratch[6] to scratch[4] of 1 step = 1
// CHECK-NEXT: coll.multicast chunk 1 from scratch[6] to scratch[4] of 2 step = 1
// CHECK-NEXT: coll.copy chunk 0 count = 3 from scratch[3] to output[0] step = 1
// CHECK-NEXT: }
// CHECK-NEXT: }

// Arrivals tell that launches have begun.
// SYNC-LABEL: coll.program @two_steps
// SYNC: coll.rank 1
// SYNC-NEXT: coll.channel to 1
// SYNC-NEXT: coll.copy chunk 0 count = 3
// SYNC-NEXT: coll.signal arrival to 0 value = 1
// SYNC-NEXT: coll.signal arrival to 2 value = 1
// SYNC-NEXT: coll.wait arrival from 0 channel = 0 value = 1
// SYNC-NEXT: coll.wait arrival from 2 channel = 2 value = 1
// SYNC-NEXT: coll.load_reduce

// APART-LABEL: coll.program @two_steps
// APART: coll.rank 1
// APART-NEXT: coll.channel to 0
// APART-NEXT: coll.load_reduce chunk 1 {{.*}} step = 0 final
// APART-NEXT: coll.load_reduce chunk 4 {{.*}} step = 1 final
// APART-NEXT: }
// APART-NEXT: coll.channel to 1
// APART-NEXT: coll.copy chunk 0 count = 3 from input[0] to scratch[0] step = 0
// APART-NEXT: coll.copy chunk 3 count = 3 from input[3] to scratch[3] step = 1
// APART-NEXT: coll.copy chunk 0 count = 3 from scratch[6] to output[0] step = 2
// APART-NEXT: coll.copy chunk 3 count = 3 from scratch[9] to output[3] step = 3
// APART-NEXT: }
// APART-NEXT: coll.channel to 2
// APART-COUNT-3: coll.multicast chunk 1
// APART-COUNT-3: coll.multicast chunk 4
// APART-NEXT: }
// expected-remark @+1 {{chunks that a switch multicasts: 3, sums that it forms: 3}}
coll.schedule @two_steps of all_reduce on @box chunks = 3 {
  coll.step rounds = 1 {
    coll.reduce 1 over 0 -> 1 by load_reduce
    coll.reduce 2 over 0 -> 2 by load_reduce
    coll.reduce 0 over 1 -> 0 by load_reduce
    coll.reduce 2 over 1 -> 2 by load_reduce
    coll.reduce 0 over 2 -> 0 by load_reduce
    coll.reduce 1 over 2 -> 1 by load_reduce
  }
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1 by multicast
    coll.send 0 over 0 -> 2 by multicast
    coll.send 1 over 1 -> 0 by multicast
    coll.send 1 over 1 -> 2 by multicast
    coll.send 2 over 2 -> 0 by multicast
    coll.send 2 over 2 -> 1 by multicast
  }
}

// -----

// As the schedule says: each rank multicasts chunk 0, which others add up, and
// reads the sum of chunk 1, which is in one place for all.
coll.topology @box ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.switch [0, 1, 2] multicast reduces
}
// CHECK-LABEL: coll.program @one_step
// CHECK: coll.rank 0
// CHECK: coll.copy chunk 1 from input[1] to scratch[0] step = 0
// CHECK-NEXT: coll.copy chunk 0 from input[0] to scratch[[[OWN:.*]]] step = 0
// CHECK-NEXT: coll.multicast chunk 0 from scratch[[[OWN]]] to scratch[1] of 0
// CHECK-NEXT: coll.multicast chunk 0 from scratch[[[OWN]]] to scratch[1] of 1
// CHECK-NEXT: coll.multicast chunk 0 from scratch[[[OWN]]] to scratch[1] of 2
// CHECK-NEXT: coll.load_reduce chunk 1 from scratch[0] of [0, 1, 2]
// CHECK-NOT: coll.put
// CHECK: coll.local_reduce chunk 0 {{.*}} terms = 2
// expected-remark @+1 {{chunks that a switch multicasts: 3, sums that it forms: 3}}
coll.schedule @one_step of all_reduce on @box chunks = 2 {
  coll.step rounds = 2 {
    coll.reduce 0 over 0 -> 1 by multicast
    coll.reduce 0 over 0 -> 2 by multicast
    coll.reduce 0 over 1 -> 0 by multicast
    coll.reduce 0 over 1 -> 2 by multicast
    coll.reduce 0 over 2 -> 0 by multicast
    coll.reduce 0 over 2 -> 1 by multicast
    coll.reduce 1 over 0 -> 1 by load_reduce
    coll.reduce 1 over 0 -> 2 by load_reduce
    coll.reduce 1 over 1 -> 0 by load_reduce
    coll.reduce 1 over 1 -> 2 by load_reduce
    coll.reduce 1 over 2 -> 0 by load_reduce
    coll.reduce 1 over 2 -> 1 by load_reduce
  }
}

// -----

// Without a word of switches, all that fits is theirs. This switch only copies.
coll.topology @copies ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.switch [0, 1, 2] multicast
}
// CHECK-LABEL: coll.program @plain
// CHECK: coll.rank 0
// CHECK: coll.multicast
// CHECK: coll.rank 1
// CHECK-NOT: coll.multicast
// expected-remark @+1 {{chunks that a switch multicasts: 1, sums that it forms: 0}}
coll.schedule @plain of broadcast on @copies chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 0 over 0 -> 2
  }
}

// -----

// A chain has nothing for a switch; it stays as it is.
coll.topology @copies ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.switch [0, 1, 2] multicast
}
// CHECK-LABEL: coll.program @chain
// CHECK: coll.put
// CHECK-NOT: coll.multicast
// expected-remark @+1 {{chunks that a switch multicasts: 0, sums that it forms: 0}}
coll.schedule @chain of broadcast on @copies chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}
