// REQUIRES: z3
// RUN: sccl-opt %s -verify-diagnostics -coll-synthesize-schedule=certify

coll.topology @free ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.synthesize' op has no certificate: a topology without limits has no bandwidth cost}}
coll.synthesize @ag of all_gather on @free chunks = 1 steps = 1 rounds = 1
