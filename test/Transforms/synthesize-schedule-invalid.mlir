// REQUIRES: z3
// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-synthesize-schedule=engine=z3

// A ring of 3 needs 2 steps.
coll.topology @ring3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.synthesize' op is unsatisfiable: }}
coll.synthesize @too_few_steps of all_gather on @ring3 chunks = 1 steps = 1 rounds = 4

// -----

// A shared bus carries one of the two chunks per round.
coll.topology @bus ranks = 3 {
  coll.link 0 -> 1
  coll.link 0 -> 2
  coll.limit [0 -> 1, 0 -> 2] bandwidth = 1
}
// expected-error @+1 {{'coll.synthesize' op is unsatisfiable: }}
coll.synthesize @too_few_rounds of broadcast on @bus chunks = 1 root = 0 steps = 1 rounds = 1

// -----

// Sums of neighbours leave no link idle, and take four rounds.
coll.topology @ring4 ranks = 4 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 3 bandwidth = 1
  coll.link 3 -> 0 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.link 3 -> 2 bandwidth = 1
  coll.link 0 -> 3 bandwidth = 1
}
// expected-error @+1 {{'coll.synthesize' op is unsatisfiable: refuted by z3}}
coll.synthesize @no_such_tree of reduce_scatter on @ring4 chunks = 8 steps = 2 rounds = 3 sum_order = "tree"
