// RUN: sccl-opt %s -coll-fuse-reductions | FileCheck %s
// RUN: sccl-opt %s -coll-fuse-reductions -coll-fuse-reductions | FileCheck %s
// RUN: sccl-opt %s -coll-fuse-reductions -coll-insert-flag-sync -coll-check-program -o /dev/null

// All arrivals of a step become terms of one reduction, and what was between
// them in scratch is given back.
// CHECK-LABEL: coll.program @pushed of reduce
// CHECK:         coll.rank 2 scratch = 4 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] terms = 4 by 1 to output[0] step = 0 final
// CHECK-NEXT:      }
// CHECK:         coll.put chunk 0 from input[0] to scratch[2] step = 0
// CHECK:         coll.put chunk 0 from input[0] to scratch[3] step = 0
coll.topology @full ranks = 5 {
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 3 -> 2 unlimited
  coll.link 4 -> 2 unlimited
}
coll.program @pushed of reduce on @full chunks = 1 root = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 2 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 2 {
      coll.put chunk 0 from input[0] to scratch[2] step = 0
    }
  }
  coll.rank 2 scratch = 7 {
    coll.channel to 2 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
      coll.local_reduce chunk 0 from scratch[1], scratch[2] to scratch[3] step = 0
      coll.local_reduce chunk 0 from scratch[3], scratch[4] to scratch[5] step = 0
      coll.local_reduce chunk 0 from scratch[5], scratch[6] to output[0] step = 0 final
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 2 {
      coll.put chunk 0 from input[0] to scratch[4] step = 0
    }
  }
  coll.rank 4 scratch = 0 {
    coll.channel to 2 {
      coll.put chunk 0 from input[0] to scratch[6] step = 0
    }
  }
}

// What is got is a term, too, and a sum that is put goes to the peer from
// registers. Rank 3 brings two contributions, which averages weigh otherwise than
// one: they are no term beside the others.
// CHECK-LABEL: coll.program @mixed of reduce
// CHECK:         coll.rank 2 scratch = 4 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.get chunk 0 from input[0] to scratch[0] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] terms = 2 by 1 to scratch[2] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 5 {
// CHECK-NEXT:        coll.reduce_put chunk 0 from scratch[2], scratch[3] to scratch[0] step = 2
// CHECK-NEXT:      }
// CHECK-NEXT:    }
coll.topology @tree ranks = 6 {
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 3 -> 2 unlimited
  coll.link 4 -> 3 unlimited
  coll.link 2 -> 5 unlimited
}
coll.program @mixed of reduce on @tree chunks = 1 root = 5 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 2 {
      coll.put chunk 0 from input[0] to scratch[2] step = 1
    }
  }
  coll.rank 2 scratch = 6 {
    coll.channel to 0 {
      coll.get chunk 0 from input[0] to scratch[0] step = 1
    }
    coll.channel to 2 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 1
      coll.local_reduce chunk 0 from scratch[1], scratch[2] to scratch[3] step = 1
      coll.local_reduce chunk 0 from scratch[3], scratch[4] to scratch[5] step = 1
    }
    coll.channel to 5 {
      coll.put chunk 0 from scratch[5] to scratch[0] step = 2
    }
  }
  coll.rank 3 scratch = 2 {
    coll.channel to 2 {
      coll.put chunk 0 from scratch[1] to scratch[4] step = 1
    }
    coll.channel to 3 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
    }
  }
  coll.rank 4 scratch = 0 {
    coll.channel to 3 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 5 scratch = 1 {
    coll.channel to 5 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 2 final
    }
  }
}
