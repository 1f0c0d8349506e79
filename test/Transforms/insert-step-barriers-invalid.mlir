// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-insert-step-barriers

// Two relays that each need what the other one passes on.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @cycle of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op needs what it writes itself, by way of other transfers}}
      coll.put chunk 0 from output[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from output[0] to output[0] step = 0
    }
  }
}
