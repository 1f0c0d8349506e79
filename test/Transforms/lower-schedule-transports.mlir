// RUN: sccl-opt %s -coll-lower-schedule | FileCheck %s --check-prefix=DIRECT
// RUN: sccl-opt %s -coll-lower-schedule=through-scratch | FileCheck %s --check-prefix=SCRATCH
// RUN: sccl-opt %s -coll-lower-schedule="double-buffer through-scratch" | FileCheck %s --check-prefix=ALTERNATE
// RUN: sccl-opt %s -coll-lower-schedule=double-buffer | FileCheck %s --check-prefix=HALVES

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// A pull is a get by the receiver: in its channel to the sender. Chunks that one
// step moves by different transports do not merge, others do.
// Through scratch, what is pulled is put into scratch by its owner first, and
// what is pushed lands in scratch, from where it is copied. A chunk that the
// receiver pulls goes straight to its output.
// DIRECT-LABEL: coll.program @mixed of broadcast on @line3 chunks = 4 root = 1 blocks = 1 {
// DIRECT-NEXT:    coll.rank 0 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 0 {
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 1 {
// DIRECT-NEXT:        coll.get chunk 0 count = 2 from input[0] to output[0] step = 0
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:    coll.rank 1 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 0 {
// DIRECT-NEXT:        coll.put chunk 2 count = 2 from input[2] to output[2] step = 0
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 1 {
// DIRECT-NEXT:        coll.copy chunk 0 count = 4 from input[0] to output[0] step = 0
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 2 {
// DIRECT-NEXT:        coll.put dma chunk 0 count = 2 from input[0] to output[0] step = 0
// DIRECT-NEXT:        coll.put chunk 2 from input[2] to output[2] step = 0
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:    coll.rank 2 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 1 {
// DIRECT-NEXT:        coll.get chunk 3 from input[3] to output[3] step = 0
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 2 {
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:  }
// SCRATCH-LABEL: coll.program @mixed of broadcast on @line3 chunks = 4 root = 1 blocks = 1 {
// SCRATCH-NEXT:    coll.rank 0 scratch = 2 {
// SCRATCH-NEXT:      coll.channel to 0 {
// SCRATCH-NEXT:        coll.copy chunk 2 count = 2 from scratch[0] to output[2] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 1 {
// SCRATCH-NEXT:        coll.get chunk 0 count = 2 from scratch[0] to output[0] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:    coll.rank 1 scratch = 3 {
// SCRATCH-NEXT:      coll.channel to 0 {
// SCRATCH-NEXT:        coll.put chunk 2 from input[2] to scratch[0] step = 0
// SCRATCH-NEXT:        coll.put chunk 3 from scratch[2] to scratch[1] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 1 {
// SCRATCH-NEXT:        coll.copy chunk 0 from input[0] to output[0] step = 0
// SCRATCH-NEXT:        coll.copy chunk 0 from input[0] to scratch[0] step = 0
// SCRATCH-NEXT:        coll.copy chunk 1 from input[1] to output[1] step = 0
// SCRATCH-NEXT:        coll.copy chunk 1 from input[1] to scratch[1] step = 0
// SCRATCH-NEXT:        coll.copy chunk 2 count = 2 from input[2] to output[2] step = 0
// SCRATCH-NEXT:        coll.copy chunk 3 from input[3] to scratch[2] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 2 {
// SCRATCH-NEXT:        coll.put dma chunk 0 count = 2 from scratch[0] to scratch[0] step = 0
// SCRATCH-NEXT:        coll.put chunk 2 from input[2] to scratch[2] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:    coll.rank 2 scratch = 3 {
// SCRATCH-NEXT:      coll.channel to 1 {
// SCRATCH-NEXT:        coll.get chunk 3 from scratch[2] to output[3] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 2 {
// SCRATCH-NEXT:        coll.copy chunk 0 count = 3 from scratch[0] to output[0] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:  }
// ALTERNATE-LABEL: coll.program @mixed of broadcast on @line3 chunks = 4 root = 1 blocks = 1 double_buffered {
// HALVES-LABEL: coll.program @mixed of broadcast on @line3 chunks = 4 root = 1 blocks = 1 double_buffered {
coll.schedule @mixed of broadcast on @line3 chunks = 4 root = 1 {
  coll.step rounds = 4 {
    coll.send 0 over 1 -> 0 by pull
    coll.send 1 over 1 -> 0 by pull
    coll.send 2 over 1 -> 0 by push
    coll.send 3 over 1 -> 0
    coll.send 0 over 1 -> 2 by dma
    coll.send 1 over 1 -> 2 by dma
    coll.send 2 over 1 -> 2 by push
    coll.send 3 over 1 -> 2 by pull
  }
}

// A relay: what rank 2 pulls from rank 1 it pulls from where it landed, in
// direct lowering the output. Through scratch the last version of rank 1 stays
// in scratch, from where it is pulled and copied.
// DIRECT-LABEL: coll.program @relay of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
// DIRECT-NEXT:    coll.rank 0 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 0 {
// DIRECT-NEXT:        coll.copy chunk 0 from input[0] to output[0] step = 0
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:    coll.rank 1 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 0 {
// DIRECT-NEXT:        coll.get chunk 0 from input[0] to output[0] step = 0
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 1 {
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:    coll.rank 2 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 1 {
// DIRECT-NEXT:        coll.get chunk 0 from output[0] to output[0] step = 1
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 2 {
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:  }
// SCRATCH-LABEL: coll.program @relay of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
// SCRATCH-NEXT:    coll.rank 0 scratch = 1 {
// SCRATCH-NEXT:      coll.channel to 0 {
// SCRATCH-NEXT:        coll.copy chunk 0 from input[0] to output[0] step = 0
// SCRATCH-NEXT:        coll.copy chunk 0 from input[0] to scratch[0] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:    coll.rank 1 scratch = 1 {
// SCRATCH-NEXT:      coll.channel to 0 {
// SCRATCH-NEXT:        coll.get chunk 0 from scratch[0] to scratch[0] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 1 {
// SCRATCH-NEXT:        coll.copy chunk 0 from scratch[0] to output[0] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:    coll.rank 2 scratch = 0 {
// SCRATCH-NEXT:      coll.channel to 1 {
// SCRATCH-NEXT:        coll.get chunk 0 from scratch[0] to output[0] step = 1
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 2 {
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:  }
coll.schedule @relay of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1 by pull
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2 by pull
  }
}

// Combining: rank 1 puts its sum into scratch, as rank 2 pulls it from there. Both
// halves of scratch that is double-buffered are laid out alike: `scratch` counts one.
// DIRECT-LABEL: coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 {
// DIRECT-NEXT:    coll.rank 0 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 0 {
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:    coll.rank 1 scratch = 3 {
// DIRECT-NEXT:      coll.channel to 0 {
// DIRECT-NEXT:        coll.get chunk 0 from input[0] to scratch[0] step = 0
// DIRECT-NEXT:        coll.put chunk 0 from output[0] to output[0] step = 1
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 1 {
// DIRECT-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[2] step = 0
// DIRECT-NEXT:        coll.local_reduce chunk 0 from scratch[2], scratch[1] to output[0] step = 0 final
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:    coll.rank 2 scratch = 0 {
// DIRECT-NEXT:      coll.channel to 1 {
// DIRECT-NEXT:        coll.put chunk 0 from input[0] to scratch[1] step = 0
// DIRECT-NEXT:        coll.get chunk 0 from output[0] to output[0] step = 1
// DIRECT-NEXT:      }
// DIRECT-NEXT:      coll.channel to 2 {
// DIRECT-NEXT:      }
// DIRECT-NEXT:    }
// DIRECT-NEXT:  }
// SCRATCH-LABEL: coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 {
// SCRATCH-NEXT:    coll.rank 0 scratch = 2 {
// SCRATCH-NEXT:      coll.channel to 0 {
// SCRATCH-NEXT:        coll.copy chunk 0 from input[0] to scratch[0] step = 0
// SCRATCH-NEXT:        coll.copy chunk 0 from scratch[1] to output[0] step = 1
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:    coll.rank 1 scratch = 5 {
// SCRATCH-NEXT:      coll.channel to 0 {
// SCRATCH-NEXT:        coll.get chunk 0 from scratch[0] to scratch[1] step = 0
// SCRATCH-NEXT:        coll.put chunk 0 from scratch[4] to scratch[1] step = 1
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 1 {
// SCRATCH-NEXT:        coll.copy chunk 0 from input[0] to scratch[0] step = 0
// SCRATCH-NEXT:        coll.local_reduce chunk 0 from scratch[0], scratch[1] to scratch[3] step = 0
// SCRATCH-NEXT:        coll.local_reduce chunk 0 from scratch[3], scratch[2] to scratch[4] step = 0 final
// SCRATCH-NEXT:        coll.copy chunk 0 from scratch[4] to output[0] step = 0
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:    coll.rank 2 scratch = 0 {
// SCRATCH-NEXT:      coll.channel to 1 {
// SCRATCH-NEXT:        coll.put chunk 0 from input[0] to scratch[2] step = 0
// SCRATCH-NEXT:        coll.get chunk 0 from scratch[4] to output[0] step = 1
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:      coll.channel to 2 {
// SCRATCH-NEXT:      }
// SCRATCH-NEXT:    }
// SCRATCH-NEXT:  }
// ALTERNATE-LABEL: coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 double_buffered {
// ALTERNATE-NEXT:   coll.rank 0 scratch = 2 {
coll.schedule @sum of all_reduce on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1 by pull
    coll.reduce 0 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2 by pull
  }
}
