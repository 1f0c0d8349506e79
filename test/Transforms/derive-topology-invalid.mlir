// RUN: sccl-opt %s -coll-derive-topology -split-input-file -verify-diagnostics

// expected-error @+1 {{'coll.machine' op has no topology: machine 'none' has 0 GPUs}}
coll.machine @none {
  coll.vertex switch "switch0" box = 0
}

// -----

// expected-error @+1 {{no route leads from 'gpu0' to 'gpu1'}}
coll.machine @apart {
  coll.vertex gpu "gpu0" box = 0
  coll.vertex gpu "gpu1" box = 1
}

// -----

// expected-error @+1 {{needs the symbol @taken_topology, which is there already}}
coll.machine @taken {
  coll.vertex gpu "gpu0" box = 0
  coll.vertex gpu "gpu1" box = 0
  coll.edge "gpu0" -> "gpu1" both_ways bandwidth = "50" from "" kind = "NVLink4"
}
coll.topology @taken_topology ranks = 2 {
}
