// RUN: sccl-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'coll.synthesize' op names topology @nowhere, which does not exist}}
coll.synthesize @synthesize_c1_absent_topology of all_gather on @nowhere chunks = 1 steps = 1 rounds = 1

// -----

// A symbol of another kind is no topology.
coll.collective @not_a_topology ranks = 2 chunks = 1 distinct = 1 {
}
// expected-error @+1 {{'coll.synthesize' op names topology @not_a_topology, which does not exist}}
coll.synthesize @synthesize_c1_not_a_topology of all_gather on @not_a_topology chunks = 1 steps = 1 rounds = 1

// -----

coll.topology @lonely ranks = 1 {
}
// expected-error @+1 {{'coll.synthesize' op names collective all_together, which does not exist}}
coll.synthesize @synthesize_c1_absent_keyword of all_together on @lonely chunks = 1 steps = 1 rounds = 1

// -----

coll.topology @lonely ranks = 1 {
}
// expected-error @+1 {{'coll.synthesize' op names collective @mine, which does not exist}}
coll.synthesize @synthesize_c1_absent_symbol of @mine on @lonely chunks = 1 steps = 1 rounds = 1

// -----

coll.topology @lonely ranks = 1 {
}
// expected-error @+1 {{'coll.synthesize' op chunks must be at least 1}}
coll.synthesize @synthesize_c2_no_chunks of all_gather on @lonely chunks = 0 steps = 1 rounds = 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.synthesize' op root 2 is out of range for 2 ranks}}
coll.synthesize @synthesize_c2_root_out_of_range of broadcast on @pair chunks = 1 root = 2 steps = 1 rounds = 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.synthesize' op gives a root to all_gather, which has none}}
coll.synthesize @synthesize_c2_root_of_rootless of all_gather on @pair chunks = 1 root = 0 steps = 1 rounds = 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.synthesize' op all_to_all needs chunks to be a multiple of 2 ranks, got 3}}
coll.synthesize @synthesize_c2_uneven_chunks of all_to_all on @pair chunks = 3 steps = 1 rounds = 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.collective @three ranks = 3 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
}
// expected-error @+1 {{'coll.synthesize' op puts collective @three of 3 ranks on a topology of 2}}
coll.synthesize @synthesize_c2_other_ranks of @three on @pair chunks = 1 steps = 1 rounds = 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.collective @two ranks = 2 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
}
// expected-error @+1 {{'coll.synthesize' op has chunks = 4, but collective @two has chunks = 1}}
coll.synthesize @synthesize_c2_other_chunks of @two on @pair chunks = 4 steps = 1 rounds = 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.synthesize' op rounds (1) must be at least steps (2)}}
coll.synthesize @synthesize_c3_fewer_rounds_than_steps of broadcast on @pair chunks = 1 root = 0 steps = 2 rounds = 1

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.synthesize' op steps must be at least 1}}
coll.synthesize @synthesize_c3_no_steps of broadcast on @pair chunks = 1 root = 0 steps = 0 rounds = 1

// -----

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
// expected-error @+1 {{'coll.synthesize' op chunk 1 cannot reach rank 0: no path from rank 1}}
coll.synthesize @synthesize_c3_disconnected of all_gather on @one_way chunks = 1 steps = 1 rounds = 1

// -----

coll.topology @lonely ranks = 1 {
}
// expected-error @+1 {{'coll.synthesize' op steps is -1, expected at least 0}}
coll.synthesize @synthesize_c3_negative_steps of all_gather on @lonely chunks = 1 steps = -1 rounds = 1

// -----

coll.topology @lonely ranks = 1 {
}
// expected-error @+1 {{'coll.synthesize' op root is -1, expected at least 0}}
coll.synthesize @synthesize_c2_negative_root of broadcast on @lonely chunks = 1 root = -1 steps = 1 rounds = 1

// -----

coll.topology @lonely ranks = 1 {
}
// expected-error @+1 {{'coll.synthesize' op has a sum_order that is none: unknown order of summation 'trees'}}
coll.synthesize @synthesize_c4_no_order of all_reduce on @lonely chunks = 1 steps = 1 rounds = 1 sum_order = "trees"

// -----

coll.topology @lonely ranks = 1 {
}
// expected-error @+1 {{'coll.synthesize' op the tree of additions is of 2 ranks, and 1 contribute}}
coll.synthesize @synthesize_c4_other_ranks of all_reduce on @lonely chunks = 1 steps = 1 rounds = 1 sum_order = "(0+1)"
