// RUN: sccl-opt %s -split-input-file -verify-diagnostics -convert-coll-to-kernel -convert-kernel-to-gpu
// RUN: sccl-opt %s -split-input-file -verify-diagnostics -convert-coll-to-kernel=host -convert-kernel-to-host

// A schedule must not get lost.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op is not a program yet; lower it first, as the pipeline sccl-lower does}}
coll.schedule @bc of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.synthesize' op is not a program yet; lower it first, as the pipeline sccl-lower does}}
coll.synthesize @bc of broadcast on @pair chunks = 1 root = 0 steps = 1 rounds = 1

// -----

// The host would not know when to copy.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @engine of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op needs a copy engine in a program without barriers; insert them first, with coll-insert-step-barriers}}
      coll.put dma chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
}
