// RUN: sccl-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'coll.topology' op has 0 ranks, expected between 1 and 65536}}
coll.topology @topology_c1_no_ranks ranks = 0 {
}

// -----

// expected-error @+1 {{'coll.topology' op has 65537 ranks, expected between 1 and 65536}}
coll.topology @topology_c1_too_many_ranks ranks = 65537 {
}

// -----

// expected-error @+1 {{'coll.topology' op the number of ranks is -2, expected at least 0}}
coll.topology @topology_c1_negative_ranks ranks = -2 {
}

// -----

coll.topology @link_c1_negative_bandwidth ranks = 2 {
  // expected-error @+1 {{'coll.link' op bandwidth is -1, expected at least 0}}
  coll.link 0 -> 1 bandwidth = -1
}

// -----

coll.topology @limit_c1_negative_bandwidth ranks = 2 {
  coll.link 0 -> 1
  // expected-error @+1 {{'coll.limit' op bandwidth is -3, expected at least 0}}
  coll.limit [0 -> 1] bandwidth = -3
}

// -----

coll.topology @topology_c2_foreign_op ranks = 2 {
  // expected-error @+1 {{'arith.constant' op is not allowed in coll.topology, which holds only coll.link, coll.limit, coll.switch and coll.timing}}
  %0 = arith.constant 0 : i32
}

// -----

coll.topology @topology_c3_rank_out_of_range ranks = 2 {
  // expected-error @+1 {{'coll.link' op rank 2 of link 0 -> 2 is out of range for 2 ranks}}
  coll.link 0 -> 2 bandwidth = 1
}

// -----

coll.topology @topology_c3_rank_to_itself ranks = 2 {
  // expected-error @+1 {{'coll.link' op link 1 -> 1 joins a rank to itself}}
  coll.link 1 -> 1 bandwidth = 1
}

// -----

coll.topology @topology_c4_link_twice ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  // expected-error @+1 {{'coll.link' op link 0 -> 1 is there already}}
  coll.link 0 -> 1
}

// -----

coll.topology @topology_c5_undeclared_link ranks = 2 {
  coll.link 0 -> 1
  // expected-error @+1 {{'coll.limit' op names link 1 -> 0, which is not declared before it}}
  coll.limit [0 -> 1, 1 -> 0] bandwidth = 1
  coll.link 1 -> 0
}

// -----

coll.topology @topology_c5_named_twice ranks = 3 {
  coll.link 0 -> 1
  coll.link 0 -> 2
  // expected-error @+1 {{'coll.limit' op link 0 -> 1 occurs twice in a limit}}
  coll.limit [0 -> 1, 0 -> 2, 0 -> 1] bandwidth = 1
}

// -----

coll.topology @topology_c6_no_bandwidth ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2
  // expected-error @+1 {{'coll.link' op has no bandwidth, and no limit names it; give it a bandwidth, such as 'bandwidth = 1', or say 'unlimited'}}
  coll.link 0 -> 2
  coll.limit [0 -> 1, 1 -> 2] bandwidth = 1
}

// -----

coll.topology @link_c2_limit ranks = 2 {
  // expected-error @+1 {{'coll.link' op is unlimited, and a limit names it}}
  coll.link 0 -> 1 unlimited
  coll.limit [0 -> 1] bandwidth = 1
}

// -----

coll.topology @link_c1_no_bandwidth ranks = 2 {
  // expected-error @+1 {{a bandwidth of 0 is none; say 'unlimited' if nothing bounds the link}}
  coll.link 0 -> 1 bandwidth = 0
}

// -----

coll.topology @link_c1_too_much_bandwidth ranks = 2 {
  // expected-error @+1 {{'coll.link' op bandwidth must be between 1 and 1048576, got 1048577}}
  coll.link 0 -> 1 bandwidth = 1048577
}

// -----

coll.topology @limit_c1_no_link ranks = 2 {
  // expected-error @+1 {{'coll.limit' op a limit needs at least 1 link}}
  coll.limit [] bandwidth = 1
}

// -----

coll.topology @limit_c2_no_bandwidth ranks = 2 {
  coll.link 0 -> 1
  // expected-error @+1 {{'coll.limit' op bandwidth must be between 1 and 1048576, got 0}}
  coll.limit [0 -> 1] bandwidth = 0
}

// -----

coll.topology @limit_c2_too_much_bandwidth ranks = 2 {
  coll.link 0 -> 1
  // expected-error @+1 {{'coll.limit' op bandwidth must be between 1 and 1048576, got 1048577}}
  coll.limit [0 -> 1] bandwidth = 1048577
}

// -----

coll.topology @limit_c3_other_bandwidth ranks = 3 {
  coll.link 0 -> 1
  coll.link 0 -> 2
  // expected-note @+1 {{the other limit is here}}
  coll.limit [0 -> 1, 0 -> 2] bandwidth = 3
  coll.limit [0 -> 2] bandwidth = 1
  // expected-error @+1 {{'coll.limit' op limits the same links to bandwidth 1 that are limited to 3 already}}
  coll.limit [0 -> 2, 0 -> 1] bandwidth = 1
}

// -----

coll.topology @limit_c3_other_than_own ranks = 2 {
  // expected-note @+1 {{the other limit is here}}
  coll.link 0 -> 1 bandwidth = 1
  // expected-error @+1 {{'coll.limit' op limits the same links to bandwidth 2 that are limited to 1 already}}
  coll.limit [0 -> 1] bandwidth = 2
}

// -----

// What is said twice is no contradiction, nor is a limit on a part of the links.
coll.topology @limit_c3_same ranks = 3 {
  coll.link 0 -> 1 bandwidth = 2
  coll.link 0 -> 2
  coll.limit [0 -> 1] bandwidth = 2
  coll.limit [0 -> 1, 0 -> 2] bandwidth = 3
  coll.limit [0 -> 2, 0 -> 1] bandwidth = 3
}

// -----

// expected-error @+1 {{'coll.link' op expects parent op 'coll.topology'}}
coll.link 0 -> 1

// -----

coll.topology @link_without_arrow ranks = 2 {
  // expected-error @+1 {{expected '->'}}
  coll.link 0 1
}

// -----

coll.topology @negative_rank ranks = 2 {
  // expected-error @+1 {{'coll.link' op rank is -1, expected at least 0}}
  coll.link -1 -> 1
}

// -----

coll.topology @timing_c1_count ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  // expected-error @+1 {{'coll.timing' op has 3 latencies and 1 rates, but the topology has 2 links and 2 limits}}
  coll.timing latencies = [1.0, 1.0, 1.0] rates = [1.0]
}

// -----

coll.topology @timing_c2_zero ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  // expected-error @+1 {{'coll.timing' op has a time or rate that cannot be, expected microseconds from 0 to 1e9 and GB/s from 1e-6 to 1e9}}
  coll.timing latencies = [1.0] rates = [0.0]
}

// -----

coll.topology @timing_c3_blocks ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  // expected-error @+1 {{'coll.timing' op has other than four numbers for blocks and two for flags}}
  coll.timing latencies = [1.0] rates = [1.0] blocks = [48.0]
}

// -----

coll.topology @timing_c2_nan ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  // expected-error @+1 {{'coll.timing' op has a time or rate that cannot be}}
  coll.timing latencies = [0x7FF8000000000000] rates = [1.0]
}

// -----

// expected-error @+1 {{'coll.topology' op has a second coll.timing}}
coll.topology @topology_c2_twice ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.timing latencies = [1.0] rates = [1.0]
  coll.timing latencies = [1.0] rates = [1.0]
}

// -----

coll.topology @switch_c1_pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  // expected-error @+1 {{'coll.switch' op is none: a switch that multicasts or reduces joins 2 ranks, expected at least 3}}
  coll.switch [0, 1] multicast
}

// -----

coll.topology @switch_c1_plain ranks = 3 {
  // expected-error @+1 {{'coll.switch' op is none: a switch neither multicasts nor reduces}}
  coll.switch [0, 1, 2]
}

// -----

coll.topology @switch_c1_negative ranks = 3 {
  // expected-error @+1 {{'coll.switch' op rank is -1, expected at least 0}}
  coll.switch [0, -1, 2] reduces
}

// -----

coll.topology @switch_c2_no_link ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  // expected-error @+1 {{'coll.switch' op is none: a switch joins ranks 0 and 2, but there is no link 0 -> 2}}
  coll.switch [0, 1, 2] reduces
}

// -----

coll.topology @switch_c2_rank ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  // expected-error @+1 {{'coll.switch' op is none: a switch joins ranks 0 and 4000000, but there is no link 0 -> 4000000}}
  coll.switch [0, 1, 4000000] multicast
}

// -----

coll.topology @switch_c3_again ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.switch [0, 1, 2] multicast
  // expected-error @+1 {{'coll.switch' op is none: there is a switch of the same ranks already}}
  coll.switch [2, 1, 0] reduces
}
