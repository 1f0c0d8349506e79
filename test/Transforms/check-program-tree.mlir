// RUN: sccl-opt %s -split-input-file -verify-diagnostics -pass-pipeline="builtin.module(coll-lower-schedule{order=tree},coll.program(coll-fuse-reductions,coll-insert-flag-sync,coll-check-program{order=tree}))"

// A ring adds up in the order of its links.
coll.topology @line ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 3 unlimited
}
// expected-error @+1 {{'coll.program' op combines chunk 0 in another order than tree: rank 3 ends with (3 (2 (0 1))), expected ((0 1) (2 3)) (T2)}}
coll.schedule @line_reduce of reduce on @line chunks = 1 root = 3 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 2
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 2 -> 3
  }
}

// -----

// Halves: what arrives is a node of the tree.
coll.topology @halves ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 2 -> 3 unlimited
  coll.link 1 -> 3 unlimited
}
coll.schedule @halves_reduce of reduce on @halves chunks = 1 root = 3 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 2 -> 3
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 3
  }
}

// -----

// What waits may be 3, 0 and 1 before the sum of them is needed.
coll.topology @late ranks = 4 {
  coll.link 0 -> 3 unlimited
  coll.link 1 -> 3 unlimited
  coll.link 2 -> 3 unlimited
}
coll.schedule @late_reduce of reduce on @late chunks = 1 root = 3 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 3
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 2 -> 3
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 3
  }
}
