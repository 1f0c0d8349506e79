// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.collective @collective_c1_foreign_op ranks = 2 chunks = 1 distinct = 1 {
  // expected-error @+1 {{'arith.constant' op is not allowed in coll.collective, which holds only coll.pre and coll.post}}
  %0 = arith.constant 0 : i32
}

// -----

// expected-error @+1 {{'coll.collective' op has 0 ranks, expected between 1 and 65536}}
coll.collective @collective_c2_no_ranks ranks = 0 chunks = 1 distinct = 1 {
}

// -----

// expected-error @+1 {{'coll.collective' op has 0 distinct chunks on 2 ranks, expected at least 1 and at most}}
coll.collective @collective_c2_no_distinct_chunks ranks = 2 chunks = 1 distinct = 0 {
}

// -----

// expected-error @+1 {{'coll.collective' op chunks must be at least 1}}
coll.collective @collective_c2_no_chunks ranks = 2 chunks = 0 distinct = 1 {
}

// -----

coll.collective @collective_c2_rank_out_of_range ranks = 2 chunks = 1 distinct = 1 {
  // expected-error @+1 {{'coll.pre' op names rank 2, but the collective has 2 ranks}}
  coll.pre 2 has [0]
}

// -----

coll.collective @collective_c2_chunk_out_of_range ranks = 2 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
  // expected-error @+1 {{'coll.post' op names chunk 1, but the collective has 1 distinct chunks}}
  coll.post 1 has [0, 1]
}

// -----

coll.collective @collective_c2_negative_chunk ranks = 2 chunks = 1 distinct = 1 {
  // expected-error @+1 {{'coll.pre' op names chunk -1, but the collective has 1 distinct chunks}}
  coll.pre 0 has [-1]
}

// -----

// expected-error @+1 {{'coll.collective' op rank 1 must get chunk 1, which no rank holds at the start}}
coll.collective @collective_c3_chunk_from_nowhere ranks = 2 chunks = 1 distinct = 2 {
  coll.pre 0 has [0]
  coll.post 1 has [1]
}

// -----

// expected-error @+1 {{'coll.pre' op expects parent op 'coll.collective'}}
coll.pre 0 has [0]

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.collective @handover ranks = 2 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
  coll.post 1 has [0]
}
// expected-error @+1 {{'coll.schedule' op gives a root to @handover, which says itself who has what}}
coll.schedule @schedule_c2_root of @handover on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
