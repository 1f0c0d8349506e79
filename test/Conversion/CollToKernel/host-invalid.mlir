// RUN: sccl-opt %s -split-input-file -verify-diagnostics -convert-coll-to-kernel=host -convert-kernel-to-host

// A program that cannot be executed has no order in which to interleave it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @stuck of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.wait' op never ends on rank 1}}
      coll.wait arrival from 0 value = 1
    }
  }
}
