// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.machine @machine_c1_other_op {
  // expected-error @+1 {{'arith.constant' op is in a coll.machine, which holds only coll.vertex and coll.edge}}
  %0 = arith.constant 0 : i32
}

// -----

coll.machine @machine_c2_name_twice {
  coll.vertex gpu "a" box = 0
  // expected-error @+1 {{'coll.vertex' op the name 'a' is there twice}}
  coll.vertex nic "a" box = 0
}

// -----

coll.machine @machine_c2_bus_id_twice {
  coll.vertex gpu "a" box = 0 bus_id = "0000:01:00.0"
  // expected-error @+1 {{'coll.vertex' op bus id 0000:01:00.0 belongs to 'a' and to 'b'}}
  coll.vertex gpu "b" box = 0 bus_id = "0000:01:00.0"
}

// -----

coll.machine @machine_c3_no_vertex {
  coll.vertex gpu "a" box = 0
  // expected-error @+1 {{'coll.edge' op joins 'b', which is no vertex declared before}}
  coll.edge "a" -> "b" bandwidth = "1" from "" kind = "IB"
}

// -----

coll.machine @machine_c3_loop {
  coll.vertex gpu "a" box = 0
  // expected-error @+1 {{'coll.edge' op the edge from 'a' to 'a' joins a vertex to itself}}
  coll.edge "a" -> "a" bandwidth = "1" from "" kind = "IB"
}

// -----

coll.machine @machine_c4_edge_twice {
  coll.vertex gpu "a" box = 0
  coll.vertex gpu "b" box = 0
  coll.edge "a" -> "b" both_ways bandwidth = "1" from "" kind = "IB"
  // expected-error @+1 {{the edge from 'b' to 'a' is there already; say cables in parallel as lanes}}
  coll.edge "b" -> "a" bandwidth = "1" from "" kind = "IB"
}

// -----

coll.machine @vertex_c1_no_name {
  // expected-error @+1 {{'coll.vertex' op a GPU has no name}}
  coll.vertex gpu "" box = 0
}

// -----

coll.machine @vertex_c2_no_box {
  // expected-error @+1 {{'coll.vertex' op NIC 'a' is in no box, which only a switch may be}}
  coll.vertex nic "a"
}

// -----

coll.machine @vertex_c2_multicast {
  // expected-error @+1 {{GPU 'a' is said to multicast or reduce, which only a switch does}}
  coll.vertex gpu "a" box = 0 reduces
}

// -----

coll.machine @vertex_c3_negative {
  // expected-error @+1 {{'coll.vertex' op is in box -1, expected at least 0}}
  coll.vertex gpu "a" box = -1
}

// -----

coll.machine @edge_c1_unit {
  coll.vertex gpu "a" box = 0
  coll.vertex gpu "b" box = 0
  // expected-error @+1 {{'coll.edge' op bandwidth: expected a number such as 450, 26.562 or 400/8, got '50 GB/s'}}
  coll.edge "a" -> "b" bandwidth = "50 GB/s" from "" kind = "IB"
}

// -----

coll.machine @edge_c1_zero {
  coll.vertex gpu "a" box = 0
  coll.vertex gpu "b" box = 0
  // expected-error @+1 {{the edge from 'a' to 'b' has 0 GB/s, expected more than 0}}
  coll.edge "a" -> "b" bandwidth = "0" from "" kind = "IB"
}

// -----

coll.machine @edge_c2_no_lanes {
  coll.vertex gpu "a" box = 0
  coll.vertex gpu "b" box = 0
  // expected-error @+1 {{'coll.edge' op has 0 lanes, expected at least 1}}
  coll.edge "a" -> "b" bandwidth = "1" from "" kind = "IB" lanes = 0
}
