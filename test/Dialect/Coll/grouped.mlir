// Collectives in groups, and segments of several chunks, survive a round trip.
// RUN: sccl-opt %s | sccl-opt | FileCheck %s
// RUN: sccl-opt %s --mlir-print-op-generic | sccl-opt | FileCheck %s

coll.topology @pairs ranks = 4 {
  coll.link 0 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 1 -> 3 bandwidth = 1
  coll.link 3 -> 1 bandwidth = 1
}

// CHECK: coll.grouped @both of all_gather ranks = 4 chunks = 1 groups = {{\[\[}}0, 2], [3, 1]]
coll.grouped @both of all_gather ranks = 4 chunks = 1 groups = [[0, 2], [3, 1]]

// CHECK: coll.grouped @from_two of broadcast ranks = 4 chunks = 3 root = 1 groups = {{\[\[}}0, 2]]
coll.grouped @from_two of broadcast ranks = 4 chunks = 3 root = 1
  groups = [[0, 2]]

// CHECK: coll.collective @halves ranks = 4 chunks = 2 distinct = 2 segment = 2 {
coll.collective @halves ranks = 4 chunks = 2 distinct = 2 segment = 2 {
  coll.pre 0 has [0, 1]
  coll.post 2 has [0, 1]
}

// Rank 3 is the first of its group, so its chunk has the lower number.
// CHECK: coll.schedule @swap of @both on @pairs chunks = 1 {
coll.schedule @swap of @both on @pairs chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 2
    coll.send 1 over 2 -> 0
    coll.send 2 over 3 -> 1
    coll.send 3 over 1 -> 3
  }
}
