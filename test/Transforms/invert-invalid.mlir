// RUN: split-file %s %t
// RUN: sccl-opt %t/diagnostics.mlir -split-input-file -verify-diagnostics -coll-invert

// RUN: not sccl-opt %t/two.mlir -coll-invert=schedule=gone 2>&1 | FileCheck %s --check-prefix=GONE
// RUN: not sccl-opt %t/two.mlir -coll-invert=schedule=pair 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: not sccl-opt %t/two.mlir -coll-invert=result=turned 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not sccl-opt %t/two.mlir -coll-invert="schedule=first result=second" 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not sccl-opt %t/two.mlir -coll-invert="schedule=first result=first" 2>&1 | FileCheck %s --check-prefix=ITSELF
// GONE:   error: has no schedule @gone
// PAIR:   error: has no schedule @pair
// TWO:    error: cannot give the name @turned to 2 inverses, choose one by schedule
// TAKEN:  error: has a symbol @second already, the inverse needs another name
// ITSELF: error: has a symbol @first already, the inverse needs another name

//--- diagnostics.mlir

// Each sum goes to both ranks: turned round, both would send it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op 'all_reduce' has no inverse: the sum of chunk 0 goes to 2 ranks, at most 1 is allowed}}
coll.schedule @ar of all_reduce on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 1 -> 0
  }
}

// -----

// Ranks 0 and 1 both have the chunk at the start.
coll.topology @star ranks = 3 {
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
}
coll.collective @shared ranks = 3 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
  coll.pre 1 has [0]
  coll.post 2 has [0]
}
// expected-error @+1 {{'coll.schedule' op 'shared' has no inverse: chunk 0 is at 2 ranks at the start, at most 1 is allowed}}
coll.schedule @s of @shared on @star chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}

//--- two.mlir
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @first of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
coll.schedule @second of broadcast on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
  }
}
