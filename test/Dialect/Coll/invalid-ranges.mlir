// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @backwards of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{no chunks lead from 3 to 1 by 1}}
    coll.send 3 to 1 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @uneven of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{no chunks lead from 0 to 10 by 3}}
    coll.send 0 to 10 by 3 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @still of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{no chunks lead from 0 to 10 by 0}}
    coll.send 0 to 10 by 0 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c1_range of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op moves chunk 12, but the collective has 12 chunks}}
    coll.send 0, 4 to 12 by 4 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c3_order of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op has a range from chunk 8 after one that ends at 8}}
    coll.send 0 to 8 by 4, 8 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @reduce_c3_order of reduce on @pair chunks = 12 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.reduce' op has a range from chunk 3 after one that ends at 4}}
    coll.reduce 4, 3 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c3_triples of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op has 2 numbers as ranges of chunks, expected some triples of first, count and stride}}
    "coll.send"() <{ranges = array<i32: 0, 1>, src = 0 : i32, dst = 1 : i32}> : () -> ()
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c3_empty of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op has a range of 0 chunks with a stride of 1}}
    "coll.send"() <{ranges = array<i32: 0, 0, 1>, src = 0 : i32, dst = 1 : i32}> : () -> ()
  }
}

// -----

// However far a range goes, nothing is expanded before it is known to fit.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c1_far of broadcast on @pair chunks = 12 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op moves chunk 2147483646, but the collective has 12 chunks}}
    coll.send 0 to 2147483646 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @schedule_c4_too_many of broadcast on @pair chunks = 50000000 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 to 49999999 over 0 -> 1
  }
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op makes the schedule move more than 67108864 chunks}}
    coll.send 0 to 49999999 over 0 -> 1
  }
}
