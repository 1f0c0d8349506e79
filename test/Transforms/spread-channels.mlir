// RUN: sccl-opt %s -pass-pipeline="builtin.module(coll.program(coll-spread-channels{blocks-per-link=0}))" | FileCheck %s
// RUN: sccl-opt %s -pass-pipeline="builtin.module(coll.program(coll-spread-channels{blocks-per-link=7}))" | FileCheck %s --check-prefix=GIVEN
// RUN: sccl-opt %s -pass-pipeline="builtin.module(coll.program(coll-spread-channels{blocks-per-link=0 sm-budget=6}))" | FileCheck %s --check-prefix=SIX
// RUN: sccl-opt %s -pass-pipeline="builtin.module(coll.program(coll-spread-channels{blocks-per-link=0 sm-budget=4}))" | FileCheck %s --check-prefix=FOUR
// RUN: not sccl-opt %s -pass-pipeline="builtin.module(coll.program(coll-spread-channels{blocks-per-link=0 sm-budget=1}))" 2>&1 | FileCheck %s --check-prefix=ONE

// A block sends 25 GB/s, and a quarter more is needed than the 60 of a link. The
// reduction has 4 accesses of a chunk, and the put 2: each block is to have half,
// or a quarter where blocks are left over.

// CHECK-LABEL: coll.program @sum
// CHECK-SAME:    blocks = 3 {
// CHECK:         coll.rank 0
// CHECK:           coll.channel to 0 spread = 8 {
// CHECK:           coll.channel to 1 {
// GIVEN-LABEL: coll.program @sum
// GIVEN-SAME:    blocks = 1 {
// GIVEN:           coll.channel to 0 spread = 4 {

// Rank 1 sends nothing, so that its sum has as many blocks as keep up with what
// comes: 3 accesses for 2.
// CHECK:         coll.rank 1
// CHECK:           coll.channel to 1 spread = 4 {
// GIVEN:         coll.rank 1
// GIVEN:           coll.channel to 1 spread = 2 {

// Rank 0 has five times as many blocks in all, and with a spread of 2 three.
// SIX-LABEL:   coll.program @sum
// SIX-SAME:      blocks = 1 {
// SIX:             coll.channel to 0 spread = 4 {
// FOUR-LABEL:  coll.program @sum
// FOUR-SAME:     blocks = 1 {
// FOUR:            coll.channel to 0 spread = 2 {
// ONE:         error: 'coll.rank' op needs at least 2 multiprocessors, 1 for each of its channels, and sm-budget is 1

// A program that says how many blocks it has is as it was meant to be.
// CHECK-LABEL: coll.program @said
// CHECK-SAME:    blocks = 2 {
// CHECK:           coll.channel to 0 {

coll.topology @four ranks = 4 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 3 -> 0 bandwidth = 1
  coll.timing latencies = [8.0e-01] rates = [6.0e+01] blocks = [4.8e+01, 2.5e+01, 2.4e+01, 3.0e-01] flags = [1.0, 0.6] launch = 2.5
}
coll.program @sum of reduce on @four chunks = 1 root = 1 blocks = 1 {
  coll.rank 0 scratch = 3 {
    coll.channel to 0 {
      coll.local_reduce chunk 0 from input[0], scratch[0] terms = 2 by 1 to scratch[2] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from scratch[2] to scratch[0] step = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[1] step = 0
    }
  }
}

coll.program @said of reduce on @four chunks = 1 root = 1 blocks = 2 {
  coll.rank 0 scratch = 3 {
    coll.channel to 0 {
      coll.local_reduce chunk 0 from input[0], scratch[0] terms = 2 by 1 to scratch[2] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from scratch[2] to scratch[0] step = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[1] step = 0
    }
  }
}

// What a root copies is done by the time that the others are, where blocks are left over.
// CHECK-LABEL: coll.program @copies
// CHECK:         coll.channel to 0 spread = 4 {
// GIVEN-LABEL: coll.program @copies
// GIVEN:         coll.channel to 0 spread = 2 {
coll.program @copies of broadcast on @four chunks = 3 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.copy chunk 1 from input[1] to output[1] step = 0
      coll.copy chunk 2 from input[2] to output[2] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
  coll.rank 2 scratch = 0 {
  }
  coll.rank 3 scratch = 0 {
  }
}
