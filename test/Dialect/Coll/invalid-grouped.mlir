// RUN: sccl-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'coll.grouped' op rank 1 is twice in the group 0-1,1}}
coll.grouped @grouped_c1_twice of all_gather ranks = 4 chunks = 1 groups = [[0, 1, 1]]

// -----

// expected-error @+1 {{'coll.grouped' op rank 1 is in two groups, which must not overlap: 0-1 and 1-2}}
coll.grouped @grouped_c1_overlap of all_gather ranks = 4 chunks = 1 groups = [[0, 1], [1, 2]]

// -----

// expected-error @+1 {{'coll.grouped' op rank 4 is out of range for 4 ranks}}
coll.grouped @grouped_c1_range of all_gather ranks = 4 chunks = 1 groups = [[0, 4]]

// -----

// expected-error @+1 {{'coll.grouped' op has rank -1 : i64 in a group, expected a number from 0 on}}
coll.grouped @grouped_c1_negative of all_gather ranks = 4 chunks = 1 groups = [[0, -1]]

// -----

// expected-error @+1 {{'coll.grouped' op a group has no ranks}}
coll.grouped @grouped_c1_nobody of all_gather ranks = 4 chunks = 1 groups = [[]]

// -----

// expected-error @+1 {{'coll.grouped' op there must be at least one group}}
coll.grouped @grouped_c1_no_groups of all_gather ranks = 4 chunks = 1 groups = []

// -----

// expected-error @+1 {{'coll.grouped' op has group "all", expected a list of ranks}}
coll.grouped @grouped_c1_word of all_gather ranks = 4 chunks = 1 groups = ["all"]

// -----

// expected-error @+1 {{'coll.grouped' op names collective gossip, which does not exist}}
coll.grouped @grouped_c2_unknown of gossip ranks = 4 chunks = 1 groups = [[0, 1]]

// -----

// expected-error @+1 {{'coll.grouped' op in group 0-1: reduce_scatter needs chunks to be a multiple of 2 ranks, got 3}}
coll.grouped @grouped_c2_chunks of reduce_scatter ranks = 4 chunks = 3 groups = [[0, 1]]

// -----

// expected-error @+1 {{'coll.grouped' op in group 0-1: root 2 is out of range for 2 ranks}}
coll.grouped @grouped_c2_root of broadcast ranks = 4 chunks = 1 root = 2 groups = [[0, 1]]

// -----

// expected-error @+1 {{'coll.grouped' op gives a root to all_gather, which has none}}
coll.grouped @grouped_c2_no_root of all_gather ranks = 4 chunks = 1 root = 0 groups = [[0, 1]]

// -----

// expected-error @+1 {{'coll.grouped' op has 0 ranks, expected between 1 and 65536}}
coll.grouped @grouped_c2_no_ranks of all_gather ranks = 0 chunks = 1 groups = [[0, 1]]

// -----

// expected-error @+1 {{'coll.collective' op rank 0 has chunk 0, but not all 2 of its segment}}
coll.collective @collective_c4_half ranks = 2 chunks = 1 distinct = 2 segment = 2 {
  coll.pre 0 has [0]
}
