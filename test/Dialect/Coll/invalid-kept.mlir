// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @keep_c1_absent_chunk of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.keep' op moves chunk 1, but the collective has 1 chunks}}
    coll.keep 1 over 0 -> 1 as 1
  }
}

// -----

// expected-note @+1 {{topology declared here}}
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @keep_c2_absent_link of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.keep' op uses link 1 -> 0, which topology @pair does not have}}
    coll.keep 0 over 1 -> 0 as 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @keep_c3_order of reduce on @pair chunks = 4 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.keep' op has a range from chunk 1 after one that ends at 2}}
    coll.keep 2, 1 over 0 -> 1 as 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @keep_c4_no_number of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.keep' op keeps what arrives under no number}}
    coll.keep 0 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @keep_c4_too_many of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.keep' op keeps what arrives as number 33, the limits are 1 and 32}}
    coll.keep 0 over 0 -> 1 as 33
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @reduce_c4_order of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.reduce' op sends what is kept as number 2 after 2, expected numbers that ascend from 1 to 32}}
    coll.reduce kept [2, 2] 0 over 0 -> 1
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @reduce_c4_zero of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.reduce' op keeps what arrives as number 0, the limits are 1 and 32}}
    coll.reduce 0 over 0 -> 1 as 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @send_c4_none of reduce on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    // expected-error @+1 {{'coll.send' op sends what is kept under no number}}
    coll.send kept [] 0 over 0 -> 1
  }
}
