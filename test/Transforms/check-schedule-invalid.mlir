// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-check-schedule

// Sends of one step do not see each other.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @chunk_not_held}}
coll.schedule @chunk_not_held of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    // expected-error @+1 {{rank 1 does not hold chunk 0 before step 0}}
    coll.send 0 over 1 -> 2
  }
}

// -----

// Rank 1 relays the chunk, but it is not its input.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @no_input_to_send}}
coll.schedule @no_input_to_send of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    // expected-error @+1 {{rank 1 has no input for chunk 0 to send in step 1}}
    coll.send input 0 over 1 -> 2
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @already_held}}
coll.schedule @already_held of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    // expected-error @+1 {{rank 0 already holds chunk 0 before step 1}}
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @received_twice}}
coll.schedule @received_twice of all_gather on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 2 over 2 -> 1
  }
  coll.step rounds = 2 {
    coll.send 0 over 1 -> 2
    // expected-error @+1 {{rank 2 receives chunk 0 twice in step 1}}
    coll.send 0 over 1 -> 2
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @link_bandwidth}}
coll.schedule @link_bandwidth of broadcast on @line3 chunks = 2 root = 0 {
  // expected-error @+1 {{link 0 -> 1 carries 2 chunks in step 0, the limit is 1 (bandwidth 1, rounds 1)}}
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 0 -> 1
  }
}

// -----

coll.topology @bus ranks = 3 {
  coll.link 0 -> 1
  coll.link 0 -> 2
  coll.limit [0 -> 1, 0 -> 2] bandwidth = 1
}
// expected-note @+1 {{in schedule @limit_bandwidth}}
coll.schedule @limit_bandwidth of broadcast on @bus chunks = 2 root = 0 {
  // expected-error @+1 {{the 2 links of limit 0 carry 4 chunks in step 0, the limit is 3 (bandwidth 1, rounds 3)}}
  coll.step rounds = 3 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 0 -> 1
    coll.send 0 over 0 -> 2
    coll.send 1 over 0 -> 2
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @wrong_action}}
coll.schedule @wrong_action of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{step 0 reduces chunk 0 into rank 1, but collective 'broadcast' does not combine}}
    coll.reduce 0 over 0 -> 1
  }
}

// -----

// The schedule ends before rank 2 has the chunk.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @postcondition}}
coll.schedule @postcondition of broadcast on @line3 chunks = 1 root = 0 {
  // expected-error @+1 {{rank 2 lacks chunk 0 after step 0}}
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-error @+1 {{rank 1 lacks chunk 0 after 0 steps}}
coll.schedule @no_steps of broadcast on @line3 chunks = 1 root = 0 {
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @counted_twice}}
coll.schedule @counted_twice of all_reduce on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 2 -> 1
  }
  coll.step rounds = 1 {
    // expected-error @+1 {{rank 1 would count the contribution of rank 0 to chunk 0 twice in step 2}}
    coll.reduce 0 over 0 -> 1
  }
}

// -----

// A send replaces what a reduce has gathered.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @contribution_lost}}
coll.schedule @contribution_lost of reduce on @line3 chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
  // expected-error @+1 {{rank 1 lacks the contribution of rank 0 to chunk 0 after step 1}}
  coll.step rounds = 1 {
    coll.send 0 over 2 -> 1
  }
}

// -----

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
// expected-note @+1 {{in schedule @contribution_missing}}
coll.schedule @contribution_missing of reduce on @line3 chunks = 1 root = 1 {
  // expected-error @+1 {{rank 1 lacks the contribution of rank 2 to chunk 0 after step 0}}
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
}
