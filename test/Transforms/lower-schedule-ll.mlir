// RUN: sccl-opt %s -sccl-lower=ll | FileCheck %s
// RUN: sccl-opt %s -sccl-lower=ll | sccl-opt -sccl-lower=ll | FileCheck %s
// RUN: sccl-opt %s -coll-lower-schedule=ll -coll-insert-flag-sync | FileCheck %s --check-prefix=READIES

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// The middle keeps in scratch what it sends on, and delivers it from there. No
// rank can be a launch ahead of another: all hear of each other.
// CHECK-LABEL: coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 double_buffered ll {
// CHECK-NOT:     coll.wait
// CHECK-NOT:     coll.signal
// CHECK:         coll.rank 0 scratch = 1 {
// CHECK-NEXT:      coll.channel to 0 spread = 2 {
// CHECK-NEXT:        coll.copy chunk 0 from scratch[0] to output[0] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 3 {
// CHECK:           coll.channel to 1 spread = 4 {
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] terms = 2 by 1 to scratch[2] step = 0 final
// CHECK-NEXT:        coll.copy chunk 0 from scratch[2] to output[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.put chunk 0 from scratch[2] to scratch[0] step = 1

// Before that, each channel to a peer waits for its ready, and for nothing else.
// READIES-LABEL: coll.program @sum
// READIES:         coll.rank 0
// READIES-NEXT:      coll.channel to 0 {
// READIES-NEXT:        coll.signal ready to 1 value = 1
// READIES-NEXT:        coll.copy
// READIES-NEXT:      }
// READIES-NEXT:      coll.channel to 1 {
// READIES-NEXT:        coll.put
// READIES-NEXT:        coll.wait ready from 1 value = 1
// READIES-NOT:     arrival
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

// The root hears of nobody, and rank 1 not of rank 2: the readies stay, and are awaited
// before the ranks end.
// CHECK-LABEL: coll.program @bc
// CHECK:         coll.channel to 1 {
// CHECK-NEXT:      coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      coll.wait ready from 1 value = 1
// CHECK:         coll.rank 1 scratch = 1 {
// CHECK-NEXT:      coll.channel to 1 spread = 2 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.copy chunk 0 from scratch[0] to output[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.put chunk 0 from scratch[0] to scratch[0] step = 1
// CHECK-NEXT:        coll.wait ready from 2 value = 1
coll.schedule @bc of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}

// What rank 1 does not need is not sent to it: the chunk only comes back.
// CHECK-LABEL: coll.program @detour
// CHECK:         coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1
coll.collective @keep ranks = 3 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
  coll.post 0 has []
}
coll.schedule @detour of @keep on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
