// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-check-program

// Each repetition is looked at: here the second one reads what is not there.
coll.topology @one_way ranks = 3 {
  coll.link 0 -> 1 unlimited
}
coll.program @wrong_stride of all_to_all on @one_way chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 6 {
    coll.channel to 0 {
      coll.copy chunk 0 times = 3 by 1 from input[0 by 1] to scratch[0 by 2] step = 0
      // expected-error @+1 {{'coll.copy' op reads chunk 1 from scratch[1] of rank 0, which holds nothing then (A1)}}
      coll.copy chunk 0 times = 2 by 1 from scratch[0 by 1] to scratch[3 by 2] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
  coll.rank 2 scratch = 0 {
  }
}

// -----

// The second repetition writes where another channel writes, too.
coll.topology @one_way ranks = 3 {
  coll.link 0 -> 1 unlimited
}
coll.program @second_races of all_to_all on @one_way chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 6 {
    coll.channel to 0 {
      // expected-note @+1 {{the other access is here}}
      coll.copy chunk 0 times = 3 by 1 from input[0 by 1] to scratch[0 by 2] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.copy' op races: it writes scratch[4] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.copy chunk 1 from input[1] to scratch[4] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
  coll.rank 2 scratch = 0 {
  }
}
