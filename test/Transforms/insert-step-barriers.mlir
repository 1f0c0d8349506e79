// RUN: sccl-opt %s -coll-insert-step-barriers | FileCheck %s
// RUN: sccl-opt %s -coll-insert-step-barriers -coll-insert-step-barriers | FileCheck %s
// RUN: sccl-opt %s -coll-insert-step-barriers -coll-insert-flag-sync | FileCheck %s

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// A barrier stands where a transfer needs what another channel did. The step
// that it was scheduled for does not matter: chunk 1 could have gone in step 0.
// A local copy waits for nothing. Every channel, with transfers or without, has
// the same barriers.
// CHECK-LABEL: coll.program @relay of broadcast on @line3 chunks = 2 root = 0 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.put chunk 1 from input[1] to output[1] step = 1
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 0 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:        coll.put chunk 1 from output[1] to output[1] step = 2
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @relay of broadcast on @line3 chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.put chunk 1 from input[1] to output[1] step = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 2 {
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.put chunk 1 from output[1] to output[1] step = 2
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
    }
  }
}

// A channel sees what it did itself, so its two combines need no barrier; the
// puts of the sum do.
// CHECK-LABEL: coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 3 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
// CHECK-NEXT:        coll.local_reduce chunk 0 from scratch[1], scratch[2] to output[0] step = 0
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[2] step = 0
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 0 {
      coll.put chunk 0 from output[0] to output[0] step = 1
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
      coll.local_reduce chunk 0 from scratch[1], scratch[2] to output[0] step = 0
    }
    coll.channel to 2 {
      coll.put chunk 0 from output[0] to output[0] step = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[2] step = 0
    }
  }
}

// Copy engines see nothing of what kernels do beside them, nor kernels of what
// engines do, not even within a channel.
// CHECK-LABEL: coll.program @engines of all_reduce on @line3 chunks = 1 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 1 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.get dma chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.put chunk 0 from scratch[0] to scratch[0] step = 1
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.get dma chunk 0 from scratch[0] to output[0] step = 1
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 1 {
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @engines of all_reduce on @line3 chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      coll.get dma chunk 0 from input[0] to scratch[0] step = 0
      coll.put chunk 0 from scratch[0] to scratch[0] step = 1
      coll.get dma chunk 0 from scratch[0] to output[0] step = 1
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 0 {
  }
}

// A program that has a signal already stays as it is.
// CHECK-LABEL: coll.program @by_hand of broadcast on @line3 chunks = 1 root = 1 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @by_hand of broadcast on @line3 chunks = 1 root = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.wait arrival from 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
  }
}
