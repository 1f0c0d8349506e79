// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-check-schedule

// The right certificate of this schedule proves R/C >= 1; each of these has one
// fault.

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that cannot be read: 1:1: expected 'sccl-certificate', got 'trust' (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "trust me"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

// Damaged on the way.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that cannot be read: 6:7: expected a value between 0 and 1099511627776, got 'x' (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 1 steps has R/C below 1\0Atopology 041822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice x on 1->0\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

// Cut off.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that cannot be read: 7:1: expected 'end', got nothing (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 1 steps has R/C below 1\0Atopology 041822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice 1 on 1->0\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that cannot be read: 8:1: expected nothing after 'end' (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 1 steps has R/C below 1\0Atopology 041822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice 1 on 1->0\0Aend\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

// A claim for more steps needs a price for each.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that cannot be read: 5:9: expected a value between 0 and 1099511627776, got 'on' (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 2 steps has R/C below 1\0Atopology 041822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice 1 on 1->0\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that does not hold: the claim is for another topology (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 1 steps has R/C below 1\0Atopology 141822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice 1 on 1->0\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that does not hold: the claim is for another collective (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_to_all on 2 ranks with 1 steps has R/C below 1\0Atopology 041822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice 1 on 1->0\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that does not hold: the claim is for 3 ranks, the topology has 2 and the collective 2 (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 3 ranks with 1 steps has R/C below 1\0Atopology 041822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice 1 on 1->0\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

// Too strong: then the schedule itself would refute it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that does not hold: the claim is a bound of 2, the proof gives 1 only (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 1 steps has R/C below 2\0Atopology 041822621e5df3a5\0Aprices\0Aprice 1 on 0->1\0Aprice 1 on 1->0\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// -----

// The strongest claim is that there is no schedule, here since a rank is too far
// away, which it is not.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
// expected-error @+1 {{'coll.schedule' op has a certificate that does not hold: no chunk must get from rank 0 to rank 1 over more than 1 links (A2)}}
coll.schedule @ag of all_gather on @pair chunks = 1 attributes {certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 1 steps exists\0Atopology 041822621e5df3a5\0Adistance 0 1\0Aend\0A"} {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}
