// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-check-program

coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.program @a1_final_missing of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      // expected-error @+1 {{'coll.local_reduce' op makes chunk 0 complete, but is not final (A1)}}
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 1 -> 0 unlimited
  coll.link 2 -> 0 unlimited
}
coll.program @a1_final_early of reduce on @line3 chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 3 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.signal ready to 2 value = 1
      coll.wait arrival from 1 value = 1
      // expected-error @+1 {{'coll.local_reduce' op is final without the contribution of rank 2 to chunk 0 (A1)}}
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[2] step = 0 final
      coll.wait arrival from 2 value = 1
      coll.local_reduce chunk 0 from scratch[2], scratch[1] to output[0] step = 0 final
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[1] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}
