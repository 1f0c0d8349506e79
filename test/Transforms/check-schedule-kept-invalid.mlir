// RUN: sccl-opt %s -coll-check-schedule -split-input-file -verify-diagnostics

// What ranks keep apart from their values.

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}
// expected-note @below {{in schedule @a1_nothing_kept}}
coll.schedule @a1_nothing_kept of all_reduce on @line chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1 as 1
    // expected-error @+1 {{rank 1 has kept nothing of chunk 0 as number 1 before step 0}}
    coll.reduce kept [1] 0 over 1 -> 2
  }
}

// -----

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}
// expected-note @below {{in schedule @a1_kept_twice}}
coll.schedule @a1_kept_twice of all_reduce on @line chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1 as 1
    // expected-error @+1 {{rank 1 keeps two arrivals of chunk 0 as number 1 in step 0}}
    coll.reduce 0 over 2 -> 1 as 1
  }
}

// -----

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}
// expected-note @below {{in schedule @a1_sum_counts_twice}}
coll.schedule @a1_sum_counts_twice of all_reduce on @line chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1 as 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0 as 1
  }
  coll.step rounds = 1 {
    // expected-error @+1 {{rank 0 would count the contribution of rank 0 to chunk 0 twice in step 2}}
    coll.reduce input kept [1] 0 over 0 -> 1
  }
}

// -----

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
// expected-note @below {{in schedule @a1_moves_only}}
coll.schedule @a1_moves_only of broadcast on @line chunks = 1 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{step 0 keeps chunk 0 apart at rank 1, but collective 'broadcast' does not combine}}
    coll.send 0 over 0 -> 1 as 1
  }
}
