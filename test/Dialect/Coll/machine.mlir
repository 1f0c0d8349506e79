// RUN: sccl-opt %s --verify-roundtrip | FileCheck %s
// RUN: sccl-opt %s --mlir-print-op-generic | sccl-opt | FileCheck %s

// CHECK-LABEL: coll.machine @boxes attributes {notes = ["assumed: a NIC for each"]} {
// CHECK-NEXT:    coll.vertex gpu "gpu0.0" box = 0 bus_id = "0000:1b:00.0" chip = "sm_90"
// CHECK-NEXT:    coll.vertex gpu "gpu1.0" box = 1
// CHECK-NEXT:    coll.vertex nic "nic0.0" box = 0 chip = "mlx5_0"
// CHECK-NEXT:    coll.vertex bridge "cpu0" box = 0
// CHECK-NEXT:    coll.vertex memory "memory0" box = 0
// CHECK-NEXT:    coll.vertex switch "switch0" box = 0 multicast reduces
// CHECK-NEXT:    coll.vertex switch "core"
// CHECK-NEXT:    coll.edge "gpu0.0" -> "switch0" both_ways bandwidth = "450" from "data sheet" kind = "NVLink4" lanes = 18
// CHECK-NEXT:    coll.edge "nic0.0" -> "core" bandwidth = "400/7" from "--nic-gbps" latency = "1.5" from "measured" kind = "IB"
// CHECK-NEXT:    coll.edge "cpu0" -> "memory0" bandwidth = "100" from "" kind = "host"
// CHECK-NEXT:    coll.edge "memory0" -> "cpu0" bandwidth = "100" from "" kind = "host" lanes = 2
// CHECK-NEXT:  }
coll.machine @boxes attributes {notes = ["assumed: a NIC for each"]} {
  coll.vertex gpu "gpu0.0" box = 0 bus_id = "0000:1b:00.0" chip = "sm_90"
  coll.vertex gpu "gpu1.0" box = 1
  coll.vertex nic "nic0.0" box = 0 chip = "mlx5_0"
  coll.vertex bridge "cpu0" box = 0
  coll.vertex memory "memory0" box = 0
  coll.vertex switch "switch0" box = 0 multicast reduces
  coll.vertex switch "core"
  coll.edge "gpu0.0" -> "switch0" both_ways bandwidth = "450" from "data sheet" kind = "NVLink4" lanes = 18
  coll.edge "nic0.0" -> "core" bandwidth = "400/7" from "--nic-gbps" latency = "1.5" from "measured" kind = "IB"
  coll.edge "cpu0" -> "memory0" bandwidth = "100" from "" kind = "host"
  coll.edge "memory0" -> "cpu0" bandwidth = "100" from "" kind = "host" lanes = 2
}
