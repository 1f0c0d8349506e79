// RUN: sccl-opt %s -coll-invert -coll-check-schedule | FileCheck %s

// With options only one schedule is inverted, and the original stays.
// RUN: sccl-opt %s -coll-invert="schedule=ag result=turned" -coll-check-schedule | FileCheck %s --check-prefix=RESULT
// RESULT:     coll.schedule @turned of reduce_scatter on @line3 chunks = 3 {
// RESULT:     coll.schedule @ag of all_gather on @line3 chunks = 1 {
// RESULT:     coll.schedule @rs of reduce_scatter
// RESULT:     coll.schedule @ring_bc of broadcast on @ring3 chunks = 1 root = 1 {
// RESULT-NOT: coll.topology @ring3_reversed

// RUN: sccl-opt %s -coll-invert=schedule=ring_bc -coll-check-schedule | FileCheck %s --check-prefix=ONE
// ONE:     coll.schedule @ag of all_gather
// ONE:     coll.topology @ring3_reversed ranks = 3 {
// ONE:     coll.schedule @ring_bc of reduce on @ring3_reversed chunks = 1 root = 1 {
// ONE-NOT: coll.schedule @ring_bc
// ONE:     coll.schedule @ring_a2a of all_to_all on @ring3 chunks

// Inverted twice, a schedule is where it was, on the topology it was on.
// RUN: sccl-opt %s -coll-invert -coll-invert -coll-check-schedule | FileCheck %s --check-prefix=TWICE
// TWICE-NOT: _reversed_reversed
// TWICE-NOT: _inverse_inverse
// TWICE:     coll.schedule @ring_bc of broadcast on @ring3 chunks = 1 root = 1 {
// TWICE-NEXT:  coll.step rounds = 1 {
// TWICE-NEXT:    coll.send 0 over 1 -> 2
// TWICE-NEXT:  }
// TWICE-NEXT:  coll.step rounds = 1 {
// TWICE-NEXT:    coll.send 0 over 2 -> 0
// TWICE:     coll.schedule @spread_a of @spread on @ring3 chunks = 1 {

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}

// What is sent last is reduced first, the other way.
// CHECK-LABEL: coll.schedule @ag of reduce_scatter on @line3 chunks = 3 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.reduce 0 over 2 -> 1
// CHECK-DAG:       coll.reduce 2 over 0 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 2 {
// CHECK-DAG:       coll.reduce 0 over 1 -> 0
// CHECK-DAG:       coll.reduce 1 over 0 -> 1
// CHECK-DAG:       coll.reduce 1 over 2 -> 1
// CHECK-DAG:       coll.reduce 2 over 1 -> 2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @ag of all_gather on @line3 chunks = 1 {
  coll.step rounds = 2 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
    coll.send 1 over 1 -> 2
    coll.send 2 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
    coll.send 2 over 1 -> 0
  }
}

// CHECK-LABEL: coll.schedule @rs of all_gather on @line3 chunks = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 0 over 0 -> 1
// CHECK-DAG:       coll.send 2 over 2 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 3 {
// CHECK-DAG:       coll.send 0 to 1 over 1 -> 2
// CHECK-DAG:       coll.send 1 to 2 over 1 -> 0
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @rs of reduce_scatter on @line3 chunks = 3 {
  coll.step rounds = 3 {
    coll.reduce 0 over 2 -> 1
    coll.reduce 1 over 0 -> 1
    coll.reduce 1 over 2 -> 1
    coll.reduce 2 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
    coll.reduce 2 over 1 -> 2
  }
}

// The step keeps its rounds, but not the send that served nobody: rank 2 does
// not have chunk 0 before the scatter.
// CHECK-LABEL: coll.schedule @gather of scatter on @line3 chunks = 3 root = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 0 over 1 -> 0
// CHECK-DAG:       coll.send 2 over 1 -> 2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @gather of gather on @line3 chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 2 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}

// CHECK-LABEL: coll.schedule @scatter of gather on @line3 chunks = 1 root = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 0 over 0 -> 1
// CHECK-DAG:       coll.send 2 over 2 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @scatter of scatter on @line3 chunks = 3 root = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
    coll.send 2 over 1 -> 2
  }
}

coll.topology @ring3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
}

// This ring turns the other way round when reversed. It is added once.
// CHECK:       coll.topology @ring3_reversed ranks = 3 {
// CHECK-DAG:     coll.link 1 -> 0 bandwidth = 1
// CHECK-DAG:     coll.link 2 -> 1 bandwidth = 1
// CHECK-DAG:     coll.link 0 -> 2 bandwidth = 1
// CHECK-NEXT:  }
// CHECK-NOT:   coll.topology @ring3
// CHECK-LABEL: coll.schedule @ring_bc of reduce on @ring3_reversed chunks = 1 root = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-NEXT:      coll.reduce 0 over 0 -> 2
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-NEXT:      coll.reduce 0 over 2 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @ring_bc of broadcast on @ring3 chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
  coll.step rounds = 1 {
    coll.send 0 over 2 -> 0
  }
}

// Chunk 3s + d goes from s to d. What went from 0 by 1 to 2 as chunk 2 is now
// chunk 6 from 2 by 1 to 0.
// CHECK-LABEL: coll.schedule @ring_a2a of all_to_all on @ring3_reversed chunks = 3 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 6 over 2 -> 1
// CHECK-DAG:       coll.send 1 over 0 -> 2
// CHECK-DAG:       coll.send 5 over 1 -> 0
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 2 {
// CHECK-DAG:       coll.send 3, 6 over 1 -> 0
// CHECK-DAG:       coll.send 1, 7 over 2 -> 1
// CHECK-DAG:       coll.send 2, 5 over 0 -> 2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @ring_a2a of all_to_all on @ring3 chunks = 3 {
  coll.step rounds = 2 {
    coll.send 1 over 0 -> 1
    coll.send 2 over 0 -> 1
    coll.send 5 over 1 -> 2
    coll.send 3 over 1 -> 2
    coll.send 6 over 2 -> 0
    coll.send 7 over 2 -> 0
  }
  coll.step rounds = 1 {
    coll.send 2 over 1 -> 2
    coll.send 3 over 2 -> 0
    coll.send 7 over 0 -> 1
  }
}

// Chunk 0 went to two ranks, so their contributions are combined. Two schedules
// of one collective share its inverse.
// CHECK:       coll.collective @spread_inverse ranks = 3 chunks = 1 distinct = 2 combining {
// CHECK-NEXT:    coll.pre 1 has [0]
// CHECK-NEXT:    coll.pre 2 has [0, 1]
// CHECK-NEXT:    coll.post 0 has [0]
// CHECK-NEXT:    coll.post 1 has [1]
// CHECK-NEXT:  }
// CHECK-LABEL: coll.schedule @spread_a of @spread_inverse on @ring3_reversed chunks = 1 {
// CHECK:           coll.reduce 0 over 2 -> 1
// CHECK:           coll.reduce 0 over 1 -> 0
// CHECK-NEXT:      coll.reduce 1 over 2 -> 1
// CHECK-NOT:   coll.collective
// CHECK-LABEL: coll.schedule @spread_b of @spread_inverse on @ring3_reversed chunks = 1 {
coll.collective @spread ranks = 3 chunks = 1 distinct = 2 {
  coll.pre 0 has [0]
  coll.pre 1 has [1]
  coll.post 1 has [0]
  coll.post 2 has [0, 1]
}
coll.schedule @spread_a of @spread on @ring3 chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 2
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}
coll.schedule @spread_b of @spread on @ring3 chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 2 {
    coll.send 0 over 1 -> 2
    coll.send 1 over 1 -> 2
  }
}

// A limit turns round with its links. @fan_reversed is something else already.
// CHECK:       coll.topology @fan_reversed_2 ranks = 3 {
// CHECK-DAG:     coll.link 1 -> 0
// CHECK-DAG:     coll.link 2 -> 0
// CHECK:         coll.limit [1 -> 0, 2 -> 0] bandwidth = 1
// CHECK-LABEL: coll.schedule @fan_bc of reduce on @fan_reversed_2 chunks = 1 root = 0 {
coll.topology @fan ranks = 3 {
  coll.link 0 -> 1
  coll.link 0 -> 2
  coll.limit [0 -> 1, 0 -> 2] bandwidth = 1
}
coll.topology @fan_reversed ranks = 3 {
  coll.link 1 -> 0
  coll.link 2 -> 0
  coll.limit [1 -> 0, 2 -> 0] bandwidth = 2
}
coll.schedule @fan_bc of broadcast on @fan chunks = 1 root = 0 {
  coll.step rounds = 2 {
    coll.send 0 over 0 -> 1
    coll.send 0 over 0 -> 2
  }
}
