// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-insert-flag-sync

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @two_writers of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to output[0] step = 0
      // expected-error @+1 {{'coll.put' op writes output[0] of rank 1 a second time}}
      coll.put chunk 0 from input[0] to output[0] step = 1
    }
  }
  coll.rank 1 scratch = 0 {
  }
}

// -----

// Nobody would signal when the engine is done.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @engine of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op needs a copy engine, which sets no flags; lower with a kernel for each step (option steps)}}
      coll.put dma chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
}
