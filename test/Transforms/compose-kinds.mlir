// What else coll-compose joins, and what the whole is called.

// A gather and a scatter are no named collective together.
// RUN: sccl-opt %s -coll-compose="first=gather second=scatter result=gs" -coll-check-schedule | FileCheck %s --check-prefix=CUSTOM
// CUSTOM:      coll.collective @gather_scatter ranks = 3 chunks = 1 distinct = 3 {
// CUSTOM-NEXT:   coll.pre 0 has [0]
// CUSTOM-NEXT:   coll.pre 1 has [1]
// CUSTOM-NEXT:   coll.pre 2 has [2]
// CUSTOM-NEXT:   coll.post 0 has [0]
// CUSTOM-NEXT:   coll.post 1 has [1]
// CUSTOM-NEXT:   coll.post 2 has [2]
// CUSTOM-NEXT: }
// CUSTOM-NEXT: coll.schedule @gs of @gather_scatter on @ring3 chunks = 1 {
// CUSTOM-NEXT:   coll.step rounds = 1 {
// CUSTOM-DAG:      coll.send 1 over 1 -> 2
// CUSTOM-DAG:      coll.send 2 over 2 -> 0
// CUSTOM-NEXT:   }
// CUSTOM-NEXT:   coll.step rounds = 1 {
// CUSTOM-NEXT:     coll.send 1 over 2 -> 0
// CUSTOM-NEXT:   }
// Ranks 1 and 2 still have their chunks, so they are not sent these again.
// CUSTOM-NEXT:   coll.step rounds = 2 {
// CUSTOM-NEXT:     coll.send 2 over 0 -> 1
// CUSTOM-NEXT:   }
// CUSTOM-NEXT:   coll.step rounds = 1 {
// CUSTOM-NEXT:   }

// The name of the collective makes way for that of the result.
// RUN: sccl-opt %s -coll-compose="first=gather second=scatter result=gather_scatter" -coll-check-schedule | FileCheck %s --check-prefix=CLASH
// CLASH: coll.collective @gather_scatter_2 ranks = 3
// CLASH: coll.schedule @gather_scatter of @gather_scatter_2 on @ring3 chunks = 1 {

// These have a name together.
// RUN: sccl-opt %s -coll-compose="first=sum second=spread result=ar" -coll-check-schedule | FileCheck %s --check-prefix=NAMED
// RUN: sccl-opt %s -coll-compose="first=gather second=spread3 result=whole" -coll-check-schedule | FileCheck %s --check-prefix=GATHERED
// NAMED-NOT:    coll.collective
// NAMED:        coll.schedule @ar of all_reduce on @ring3 chunks = 1 {
// NAMED:          coll.reduce 0 over 2 -> 0
// NAMED:          coll.send 0 over 0 -> 1
// GATHERED-NOT: coll.collective
// GATHERED:     coll.schedule @whole of all_gather on @ring3 chunks = 1 {

// The paper's recipe for an all_reduce on links that go one way: one all_gather
// on the reversed topology, inverted, and one on the topology itself.
// RUN: sccl-opt %s -coll-invert="schedule=back result=rs" -coll-compose="first=rs second=ag result=ar" -coll-check-schedule | FileCheck %s --check-prefix=RECIPE
// RECIPE: coll.schedule @ar of all_reduce on @ring3 chunks = 3 {
// RECIPE: coll.schedule @back of all_gather on @back3 chunks = 1 {

coll.topology @ring3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
}
coll.topology @back3 ranks = 3 {
  coll.link 2 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
}
coll.schedule @gather of gather on @ring3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 1 over 1 -> 2
    coll.send 2 over 2 -> 0
  }
  coll.step rounds = 1 {
    coll.send 1 over 2 -> 0
  }
}
coll.schedule @scatter of scatter on @ring3 chunks = 3 root = 0 {
  coll.step rounds = 2 {
    coll.send 1 over 0 -> 1
    coll.send 2 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 2 over 1 -> 2
  }
}
coll.schedule @sum of reduce on @ring3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 2
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 2 -> 0
  }
}
coll.schedule @spread of broadcast on @ring3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}
coll.schedule @spread3 of broadcast on @ring3 chunks = 3 root = 0 {
  coll.step rounds = 3 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 0 -> 1
    coll.send 2 over 0 -> 1
  }
  coll.step rounds = 3 {
    coll.send 0 over 1 -> 2
    coll.send 1 over 1 -> 2
    coll.send 2 over 1 -> 2
  }
}
coll.schedule @ag of all_gather on @ring3 chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 2
    coll.send 2 over 2 -> 0
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
    coll.send 1 over 2 -> 0
    coll.send 2 over 0 -> 1
  }
}
coll.schedule @back of all_gather on @back3 chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 2
    coll.send 1 over 1 -> 0
    coll.send 2 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 2 -> 1
    coll.send 1 over 0 -> 2
    coll.send 2 over 1 -> 0
  }
}
