// RUN: sccl-opt %s -split-input-file -verify-diagnostics -convert-coll-to-gpu
// RUN: sccl-opt %s -split-input-file -verify-diagnostics -convert-coll-to-host

// A schedule must not get lost.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1
}
// expected-error @+1 {{'coll.schedule' op is not a program yet; lower it first, as the pipeline sccl-lower does}}
coll.schedule @bc of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1
}
// expected-error @+1 {{'coll.synthesize' op is not a program yet; lower it first, as the pipeline sccl-lower does}}
coll.synthesize @bc of broadcast on @pair chunks = 1 root = 0 steps = 1 rounds = 1
