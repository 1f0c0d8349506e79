// RUN: sccl-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'coll.schedule' op names topology @nowhere, which does not exist}}
coll.schedule @schedule_c1_absent_topology of all_gather on @nowhere chunks = 1 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op names collective all_together, which does not exist}}
coll.schedule @schedule_c1_absent_collective of all_together on @pair chunks = 1 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op chunks must be at least 1}}
coll.schedule @schedule_c2_no_chunks of all_gather on @pair chunks = 0 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op root 2 is out of range for 2 ranks}}
coll.schedule @schedule_c2_root_out_of_range of broadcast on @pair chunks = 1 root = 2 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @schedule_c3_foreign_op of broadcast on @pair chunks = 1 root = 0 {
  // expected-error @+1 {{'arith.constant' op is not allowed in coll.schedule, which holds only coll.step}}
  %0 = arith.constant 0 : i32
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @step_c1_no_rounds of broadcast on @pair chunks = 1 root = 0 {
  // expected-error @+1 {{'coll.step' op takes 0 rounds, expected between 1 and}}
  coll.step rounds = 0 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @step_c2_foreign_op of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'arith.constant' op is not allowed in coll.step, which holds only coll.send, coll.reduce and coll.keep}}
    %0 = arith.constant 0 : i32
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c1_absent_chunk of broadcast on @pair chunks = 2 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    // expected-error @+1 {{'coll.send' op moves chunk 2, but the collective has 2 chunks}}
    coll.send 2 over 0 -> 1
  }
}

// -----

// expected-note @+1 {{topology declared here}}
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c2_absent_link of broadcast on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op uses link 1 -> 0, which topology @pair does not have}}
    coll.send 0 over 1 -> 0
  }
}

// -----

// expected-note @+1 {{topology declared here}}
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c2_absent_rank of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op uses link 0 -> 2, which topology @pair does not have}}
    coll.send 0 over 0 -> 2
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.schedule @reduce_c1_absent_chunk of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.reduce' op moves chunk 1, but the collective has 1 chunks}}
    coll.reduce 1 over 1 -> 0
  }
}

// -----

// expected-note @+1 {{topology declared here}}
coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.schedule @reduce_c2_absent_link of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.reduce' op uses link 0 -> 1, which topology @pair does not have}}
    coll.reduce 0 over 0 -> 1
  }
}

// -----

// expected-error @+1 {{'coll.step' op expects parent op 'coll.schedule'}}
coll.step rounds = 1 {
}

// -----

// expected-error @+1 {{'coll.send' op expects parent op 'coll.step'}}
coll.send 0 over 0 -> 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @unknown_transport of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    // expected-error @+2 {{expected ::sccl::coll::Transport to be one of: push, pull, dma}}
    // expected-error @+2 {{failed to parse}}
    coll.send 0 over 0 -> 1 by mail
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op has a period of 0, the limits are 1 and 1048576}}
coll.schedule @schedule_c5_none of broadcast on @pair chunks = 1 root = 0 period = 0 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op has a period of -1, the limits are 1 and 1048576}}
coll.schedule @schedule_c5_negative of broadcast on @pair chunks = 1 root = 0 period = -1 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{has 4 numbers in best_at, expected triples of bytes, nanoseconds and a bound}}
coll.schedule @way_c2_half of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<best_at = [8, 900, 800, 32]>]} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{has 900 ns and a bound of 1 ns for 8 bytes in best_at, expected at least 0 ns and 9 bytes}}
coll.schedule @way_c2_twice of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<best_at = [8, 800, 1, 8, 900, 1]>]} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{has -1 ns and a bound of 0 ns for 8 bytes in best_at, expected at least 0 ns and 0 bytes}}
coll.schedule @way_c2_negative of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<best_at = [8, -1, 0]>]} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{has a sum_order that is none: a tree of additions has the numbers from 0 on, each once: 0 is missing}}
coll.schedule @way_c3_leaf of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<sum_order = "(1+2)">]} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{has a wire 'f17', expected f32}}
coll.schedule @way_c5_other of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<wire = "f17">]} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{has 0 pieces at a distance of 6, the limits are 1 and 1048576}}
coll.schedule @way_c1_none of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<pieces = 0>]} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op is given way 0 twice, as number 1 too}}
coll.schedule @schedule_c6_twice of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<>, #coll.way<distance = 2, best_at = [8, 1, 1]>]} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.schedule' op has 'best_at', which only sccl before 0.2.0 reads; make it again with sccl plan}}
coll.schedule @old of broadcast on @pair chunks = 1 root = 0 attributes {best_at = array<i64: 8, 1>} {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{moves chunks by multicast, but there are no such programs}}
coll.schedule @way_c4_multicast of broadcast on @pair chunks = 1 root = 0 attributes {ways = [#coll.way<transport = multicast>]} {
}
