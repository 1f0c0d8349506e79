// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-lower-schedule

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
// expected-error @+1 {{'coll.schedule' op sends chunk 0 from rank 1, which does not hold it}}
coll.schedule @not_held of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 0 over 1 -> 2
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
// expected-error @+1 {{'coll.schedule' op sends chunk 0 from rank 1, which does not hold it}}
coll.schedule @no_input of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send input 0 over 1 -> 2
  }
}
