// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-check-schedule

// A fault in one chunk of a range is reported on the op that has the range.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 9
  coll.link 1 -> 0 bandwidth = 9
}
// expected-note @+1 {{in schedule @ag}}
coll.schedule @ag of all_gather on @pair chunks = 4 {
  coll.step rounds = 1 {
    coll.send 0 to 3 over 0 -> 1
    // expected-error @+1 {{rank 1 does not hold chunk 3 before step 0}}
    coll.send 3 to 7 over 1 -> 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 3
  coll.link 1 -> 0 bandwidth = 9
}
// expected-note @+1 {{in schedule @ag}}
coll.schedule @ag of all_gather on @pair chunks = 4 {
  // expected-error @+1 {{link 0 -> 1 carries 4 chunks in step 0, the limit is 3 (bandwidth 3, rounds 1)}}
  coll.step rounds = 1 {
    coll.send 0 to 3 over 0 -> 1
    coll.send 4 to 7 over 1 -> 0
  }
}

// -----

// The second range brings again what the first one has brought.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 9
  coll.link 1 -> 0 bandwidth = 9
}
// expected-note @+1 {{in schedule @ag}}
coll.schedule @ag of all_gather on @pair chunks = 4 {
  coll.step rounds = 1 {
    coll.send 4 to 7 over 1 -> 0
    coll.send 0 to 2 over 0 -> 1
    // expected-error @+1 {{rank 1 receives chunk 2 twice in step 0}}
    coll.send 2 to 3 over 0 -> 1
  }
}
