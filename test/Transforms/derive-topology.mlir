// RUN: sccl-opt %s -coll-derive-topology 2>/dev/null | FileCheck %s
// RUN: sccl-opt %s -coll-derive-topology=quantum=25 2>&1 | FileCheck %s --check-prefix=QUANTUM
// RUN: not sccl-opt %s -coll-derive-topology=quantum=40 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: not sccl-opt %s -coll-derive-topology=tolerance=x 2>&1 | FileCheck %s --check-prefix=WORD

// Two GPUs on a switch and a third behind a cable: 450 and 50 GB/s are 9 and 1.

// CHECK-LABEL: coll.machine @small
// CHECK-LABEL: coll.topology @small_topology ranks = 3 {
// CHECK-NEXT:    coll.link 0 -> 1 bandwidth = 9
// CHECK-NEXT:    coll.link 1 -> 0 bandwidth = 9
// CHECK-NEXT:    coll.link 1 -> 2 bandwidth = 1
// CHECK-NEXT:    coll.link 2 -> 1 bandwidth = 1
// CHECK-NEXT:  }

// QUANTUM: remark: one chunk per round is 25 GB/s
// QUANTUM: coll.link 0 -> 1 bandwidth = 18
// ODD: error: 'coll.machine' op has no topology: machine 'small': 450 GB/s is no multiple of 40 GB/s
// WORD: error: tolerance: expected a number such as 450
coll.machine @small {
  coll.vertex gpu "gpu0" box = 0
  coll.vertex gpu "gpu1" box = 0
  coll.vertex gpu "gpu2" box = 0
  coll.vertex switch "switch0" box = 0
  coll.edge "gpu0" -> "switch0" both_ways bandwidth = "450" from "data sheet" kind = "NVLink4" lanes = 18
  coll.edge "gpu1" -> "switch0" both_ways bandwidth = "450" from "data sheet" kind = "NVLink4" lanes = 18
  coll.edge "gpu1" -> "gpu2" both_ways bandwidth = "50" from "measured" latency = "1.5" from "measured" kind = "IB"
}
