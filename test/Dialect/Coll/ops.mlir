// RUN: sccl-opt %s --verify-roundtrip | FileCheck %s
// RUN: sccl-opt %s --mlir-print-op-generic | sccl-opt | FileCheck %s

// CHECK-LABEL: coll.topology @line3 ranks = 3 {
// CHECK-NEXT:    coll.link 0 -> 1 bandwidth = 2
// CHECK-NEXT:    coll.link 1 -> 2
// CHECK-NEXT:    coll.link 1 -> 0 bandwidth = 1048576
// CHECK-NEXT:    coll.link 2 -> 1 unlimited
// CHECK-NEXT:    coll.limit [1 -> 2] bandwidth = 1
// CHECK-NEXT:    coll.limit [1 -> 0, 1 -> 2] bandwidth = 3
// CHECK-NEXT:  }
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 2
  coll.link 1 -> 2
  coll.link 1 -> 0 bandwidth = 1048576
  coll.link 2 -> 1 unlimited
  coll.limit [1 -> 2] bandwidth = 1
  coll.limit [1 -> 0, 1 -> 2] bandwidth = 3
}

// CHECK-LABEL: coll.topology @lonely ranks = 1 {
// CHECK-NEXT:  }
coll.topology @lonely ranks = 1 {
}

// CHECK-LABEL: coll.topology @noted ranks = 2 attributes {vendor = "none"} {
// CHECK-NEXT:    coll.link 0 -> 1 bandwidth = 1 {cable = 7 : i64}
coll.topology @noted ranks = 2 attributes {vendor = "none"} {
  coll.link 0 -> 1 bandwidth = 1 {cable = 7 : i64}
  coll.link 1 -> 0 bandwidth = 1
}

// CHECK-LABEL: coll.collective @swap ranks = 3 chunks = 1 distinct = 2 {
// CHECK-NEXT:    coll.pre 0 has [0]
// CHECK-NEXT:    coll.pre 2 has [1]
// CHECK-NEXT:    coll.post 0 has [1]
// CHECK-NEXT:    coll.post 2 has [0, 1]
// CHECK-NEXT:  }
coll.collective @swap ranks = 3 chunks = 1 distinct = 2 {
  coll.pre 0 has [0]
  coll.pre 2 has [1]
  coll.post 0 has [1]
  coll.post 2 has [0, 1]
}

// CHECK-LABEL: coll.collective @ends ranks = 3 chunks = 1 distinct = 1 combining {
coll.collective @ends ranks = 3 chunks = 1 distinct = 1 combining {
  coll.pre 0 has [0]
  coll.pre 2 has [0]
  coll.post 1 has [0]
}

// CHECK-LABEL: coll.synthesize @s0 of all_gather on @line3 chunks = 1 steps = 2 rounds = 3
coll.synthesize @s0 of all_gather on @line3 chunks = 1 steps = 2 rounds = 3
// CHECK-LABEL: coll.synthesize @s1 of broadcast on @line3 chunks = 4 root = 2 steps = 2 rounds = 5
coll.synthesize @s1 of broadcast on @line3 chunks = 4 root = 2 steps = 2 rounds = 5
// CHECK-LABEL: coll.synthesize @s2 of @swap on @line3 chunks = 1 steps = 2 rounds = 2 {note = "slow"}
coll.synthesize @s2 of @swap on @line3 chunks = 1 steps = 2 rounds = 2 {note = "slow"}

// A keyword in quotes is the same keyword.
// CHECK-LABEL: coll.synthesize @s3 of gather on @line3 chunks = 1 root = 0 steps = 2 rounds = 2
coll.synthesize @s3 of "gather" on @line3 chunks = 1 root = 0 steps = 2 rounds = 2

// CHECK-LABEL: coll.schedule @bc of broadcast on @line3 chunks = 1 root = 0 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-NEXT:      coll.send 0 over 0 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 2 attributes {last} {
// CHECK-NEXT:      coll.send input 0 over 1 -> 2 {lane = 1 : i64}
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @bc of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 2 attributes {last} {
    coll.send input 0 over 1 -> 2 {lane = 1 : i64}
  }
}

// CHECK-LABEL: coll.schedule @both of @ends on @line3 chunks = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-NEXT:      coll.reduce 0 over 0 -> 1
// CHECK-NEXT:      coll.reduce input 0 over 2 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @both of @ends on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce input 0 over 2 -> 1
  }
}

// CHECK-LABEL: coll.schedule @nothing of all_gather on @line3 chunks = 1 {
// CHECK-NEXT:  }
coll.schedule @nothing of all_gather on @line3 chunks = 1 {
}

// CHECK-LABEL: coll.schedule @transports of @ends on @line3 chunks = 1 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-NEXT:      coll.reduce 0 over 0 -> 1 by push
// CHECK-NEXT:      coll.reduce input 0 over 2 -> 1 by dma {lane = 1 : i64}
// CHECK-NEXT:      coll.send 0 over 1 -> 2 by pull
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.schedule @transports of @ends on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1 by push
    coll.reduce input 0 over 2 -> 1 by dma {lane = 1 : i64}
    coll.send 0 over 1 -> 2 by pull
  }
}

// CHECK-LABEL: coll.schedule @advised of all_gather on @line3 chunks = 1
// CHECK-SAME:    ways = [#coll.way<protocol = ll, best_at = [8, 700, 600, 32, 800, 700]>,
// CHECK-SAME:            #coll.way<transport = pull, pieces = 4, distance = 2, order = rounds>,
// CHECK-SAME:            #coll.way<>]
coll.schedule @advised of all_gather on @line3 chunks = 1 attributes {ways = [
  #coll.way<protocol = ll, best_at = [8, 700, 600, 32, 800, 700]>,
  #coll.way<transport = pull, protocol = direct, pieces = 4, distance = 2, order = rounds>,
  #coll.way<transport = push, pieces = 1, distance = 6, order = steps>]} {
}

// CHECK-LABEL: coll.topology @timed ranks = 2
// CHECK:         coll.timing latencies = [4.000000e-01] rates = [2.500000e+01, 5.000000e+01] copies = 1.000000e+03 start = 1.000000e-01 barrier = 2.000000e+00
coll.topology @timed ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 2
  coll.timing latencies = [0.4] rates = [25.0, 50.0] copies = 1000.0 start = 0.1 barrier = 2.0
}

// CHECK-LABEL: coll.schedule @pipelined of all_gather on @line3 chunks = 1 period = 2 {
coll.schedule @pipelined of all_gather on @line3 chunks = 1 period = 2 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
