// RUN: sccl-opt %s -coll-fuse-reductions | FileCheck %s
// RUN: sccl-opt %s -coll-fuse-reductions -coll-fuse-reductions | FileCheck %s
// RUN: sccl-opt %s -coll-fuse-reductions -coll-insert-flag-sync -coll-check-program -o /dev/null
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-fuse-reductions=explain 2>&1 | FileCheck %s --check-prefix=COUNTS --implicit-check-not=remark:
// RUN: sccl-opt %s -coll-fuse-reductions 2>&1 | FileCheck %s --implicit-check-not=remark:

// COUNTS: remark: reductions joined with a put: 1, gets joined with a reduction: 0, slots of scratch given back: 2
// COUNTS: remark: reductions joined with a put: 0, gets joined with a reduction: 2, slots of scratch given back: 2
// COUNTS: remark: reductions joined with a put: 0, gets joined with a reduction: 0, slots of scratch given back: 2, reductions joined with the next one: 1
// COUNTS: remark: reductions joined with a put: 0, gets joined with a reduction: 0, slots of scratch given back: 0
// COUNTS: remark: reductions joined with a put: 2, gets joined with a reduction: 0, slots of scratch given back: 2

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// Rank 1 passes the sum on and keeps none of it: the result goes from registers
// to rank 2, and its slot is given back. Rank 2's result is the output; it stays
// a combine.
// CHECK-LABEL: coll.program @pushed of reduce on @line3 chunks = 2 root = 2 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 2 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.reduce_put chunk 0 count = 2 from input[0], scratch[0] to scratch[0] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 2 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.local_reduce chunk 0 count = 2 from scratch[0], input[0] to output[0] step = 1 final
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @pushed of reduce on @line3 chunks = 2 root = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 count = 2 from input[0] to scratch[2] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
    coll.channel to 1 {
      coll.local_reduce chunk 0 count = 2 from input[0], scratch[2] to scratch[0] step = 0
    }
    coll.channel to 2 {
      coll.put chunk 0 count = 2 from scratch[0] to scratch[0] step = 1
    }
  }
  coll.rank 2 scratch = 2 {
    coll.channel to 2 {
      coll.local_reduce chunk 0 count = 2 from scratch[0], input[0] to output[0] step = 1 final
    }
  }
}

// What a rank gets it combines as it reads, whichever of the two sources it is.
// CHECK-LABEL: coll.program @pulled of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 1 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.get_reduce chunk 0 from input[0], input[0] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.get_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @pulled of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 0 {
      coll.get chunk 0 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 from scratch[0], input[0] to scratch[1] step = 0
    }
  }
  coll.rank 2 scratch = 1 {
    coll.channel to 1 {
      coll.get chunk 0 from scratch[1] to scratch[0] step = 1
    }
    coll.channel to 2 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
}

// The sum is read twice, once in parts: it stays, with two terms.
// CHECK-LABEL: coll.program @shared of all_reduce on @line3 chunks = 2 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 6 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.put chunk 0 count = 2 from scratch[4] to output[0] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.local_reduce chunk 0 count = 2 from input[0], scratch[0] terms = 2 by 2 to scratch[4] step = 0 final
// CHECK-NEXT:        coll.copy chunk 0 count = 2 from scratch[4] to output[0] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.put chunk 0 from scratch[4] to output[0] step = 1
// CHECK-NEXT:        coll.put chunk 1 from scratch[5] to output[1] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.put chunk 0 count = 2 from input[0] to scratch[2] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @shared of all_reduce on @line3 chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 8 {
    coll.channel to 0 {
      coll.put chunk 0 count = 2 from scratch[6] to output[0] step = 1
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 count = 2 from input[0], scratch[0] to scratch[4] step = 0
      coll.local_reduce chunk 0 count = 2 from scratch[4], scratch[2] to scratch[6] step = 0 final
      coll.copy chunk 0 count = 2 from scratch[6] to output[0] step = 1
    }
    coll.channel to 2 {
      coll.put chunk 0 from scratch[6] to output[0] step = 1
      coll.put chunk 1 from scratch[7] to output[1] step = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 count = 2 from input[0] to scratch[2] step = 0
    }
  }
}

// A channel must not stop in the middle of a step for something of that step, or
// channels could wait for each other in a cycle. So the get does not become one
// with a combine whose other source is copied in the same step, nor the combine
// with a put of the same step.
// CHECK-LABEL: coll.program @same_step of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 3 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.get chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.copy chunk 0 from input[0] to scratch[1] step = 0
// CHECK-NEXT:        coll.local_reduce chunk 0 from scratch[1], scratch[0] to scratch[2] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.put chunk 0 from scratch[2] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 1 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @same_step of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 0 {
      coll.get chunk 0 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      coll.copy chunk 0 from input[0] to scratch[1] step = 0
      coll.local_reduce chunk 0 from scratch[1], scratch[0] to scratch[2] step = 0
    }
    coll.channel to 2 {
      coll.put chunk 0 from scratch[2] to scratch[0] step = 0
    }
  }
  coll.rank 2 scratch = 1 {
    coll.channel to 2 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
  }
}

// A put of two sums is made one of each, so that both go from registers.
// CHECK-LABEL: coll.program @parts of reduce on @line3 chunks = 2 root = 2 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 2 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 1
// CHECK-NEXT:        coll.reduce_put chunk 1 from input[1], scratch[1] to scratch[1] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 2 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.local_reduce chunk 0 count = 2 from input[0], scratch[0] to output[0] step = 1 final
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @parts of reduce on @line3 chunks = 2 root = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[2] step = 0
      coll.local_reduce chunk 1 from input[1], scratch[1] to scratch[3] step = 0
    }
    coll.channel to 2 {
      coll.put chunk 0 count = 2 from scratch[2] to scratch[0] step = 1
    }
  }
  coll.rank 2 scratch = 2 {
    coll.channel to 2 {
      coll.local_reduce chunk 0 count = 2 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
}

// A program that has signals already stays as it is.
// CHECK-LABEL: coll.program @by_hand of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 2 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait ready from 2 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from scratch[1] to scratch[0] step = 1
// CHECK-NEXT:        coll.signal arrival to 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 1 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @by_hand of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.wait arrival from 1 value = 1
      coll.put chunk 0 from scratch[1] to scratch[0] step = 1
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 1 {
    coll.channel to 2 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
}
