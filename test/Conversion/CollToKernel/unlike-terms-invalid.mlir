// RUN: sccl-opt %s -convert-coll-to-kernel -verify-diagnostics

// One word of an average cannot weigh one contribution and two.
coll.topology @line ranks = 4 {
  coll.link 1 -> 0 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 3 -> 2 unlimited
}
coll.program @unlike of reduce on @line chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 2 {
    coll.channel to 0 {
      coll.wait arrival from 1 value = 1
      coll.wait arrival from 2 value = 1
      // expected-error @+1 {{'coll.local_reduce' op has terms with different numbers of contributions, which averages cannot weigh alike}}
      coll.local_reduce chunk 0 from input[0], scratch[0] terms = 2 by 1 to output[0] step = 1 final
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[0] step = 1
      coll.signal arrival to 0 value = 1
    }
  }
  coll.rank 2 scratch = 1 {
    coll.channel to 0 {
      coll.wait arrival from 3 value = 1
      coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[1] step = 1
      coll.signal arrival to 0 value = 1
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 2 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 2 value = 1
    }
  }
}
