// RUN: sccl-opt %s -split-input-file -verify-diagnostics -pass-pipeline="builtin.module(coll.program(coll-check-program))"

// Programs that round on the way, and those whose slots are not what they say.

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
coll.program @right of reduce on @line chunks = 1 root = 2 blocks = 1 sum_width = 2 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
    }
    coll.channel to 2 {
      coll.wait arrival from 0 value = 1
      coll.wait ready from 2 value = 1
      coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 1
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 1 wide = 1 {
    coll.channel to 2 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
}

// -----

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
coll.program @truncates of reduce on @line chunks = 1 root = 2 blocks = 1 sum_width = 2 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 wide = 1 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
    }
    coll.channel to 2 {
      coll.wait arrival from 0 value = 1
      coll.wait ready from 2 value = 1
      // expected-error@below {{rounds a partial sum of chunk 0: it writes scratch[0] of rank 2, which is not wide (T3)}}
      coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 1
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

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @rank_c2_more of reduce on @pair chunks = 2 root = 1 blocks = 1 sum_width = 2 {
  coll.rank 0 scratch = 0 {
  }
  // expected-error@below {{has 3 wide slots of 2}}
  coll.rank 1 scratch = 2 wide = 3 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c16_no_width of reduce on @pair chunks = 2 root = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  // expected-error@below {{has 1 wide slots, but the program no sum_width}}
  coll.rank 1 scratch = 2 wide = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c16_mixed of reduce on @pair chunks = 2 root = 1 blocks = 1 sum_width = 2 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      // expected-error@below {{has chunks in scratch[0] to scratch[1] of rank 1, of which only the first 1 are wide}}
      coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 2 wide = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c16_dma of reduce on @pair chunks = 2 root = 1 blocks = 1 sum_width = 2 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      // expected-error@below {{needs a copy engine, which converts nothing, in a program with sum_width}}
      coll.put dma chunk 0 count = 2 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error@below {{has LL words, which hold no sums in f32}}
coll.program @program_c16_ll of reduce on @pair chunks = 2 root = 1 blocks = 1 double_buffered ll sum_width = 2 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 2 {
  }
}
