// RUN: split-file %s %t
// RUN: sccl-opt %t/diagnostics.mlir -split-input-file -verify-diagnostics -coll-compose="first=one second=two"

// RUN: not sccl-opt %t/pair.mlir -coll-compose="first=sum second=gone" 2>&1 | FileCheck %s --check-prefix=GONE
// RUN: not sccl-opt %t/pair.mlir -coll-compose="first=pair second=spread" 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: not sccl-opt %t/pair.mlir -coll-compose="second=spread" 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not sccl-opt %t/pair.mlir -coll-compose="first=sum" 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: not sccl-opt %t/pair.mlir -coll-compose="first=sum second=spread result=third" 2>&1 | FileCheck %s --check-prefix=TAKEN
// GONE:   error: has no schedule @gone
// PAIR:   error: has no schedule @pair
// FIRST:  error: option 'first' must name a schedule
// SECOND: error: option 'second' must name a schedule
// TAKEN:  error: has a symbol @third already, the whole needs another name

//--- diagnostics.mlir

// After the first rank 1 has all chunks, before the second only its own.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @one of all_gather on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}
// expected-error @+1 {{'coll.schedule' op cannot compose 'all_gather' with 'gather': rank 0 has chunk 1 after the first, but must not have it before the second}}
coll.schedule @two of gather on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 1 over 1 -> 0
  }
}

// -----

// The sum is at rank 0, but rank 1 is to spread it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @one of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
}
// expected-error @+1 {{'coll.schedule' op cannot compose 'reduce' with 'broadcast': rank 0 has chunk 0 after the first, but must not have it before the second}}
coll.schedule @two of broadcast on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @one of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
}
// expected-error @+1 {{'coll.schedule' op cannot compose 'reduce' with 'broadcast': the first has 2 ranks and 1 chunks, the second 2 ranks and 2 chunks}}
coll.schedule @two of broadcast on @pair chunks = 2 root = 0 {
  coll.step rounds = 2 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 0 -> 1
  }
}

// -----

// A second reduction would sum up sums.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @one of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
// expected-error @+1 {{'coll.schedule' op cannot compose 'broadcast' with 'reduce': the second must not combine}}
coll.schedule @two of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.topology @wide ranks = 2 {
  coll.link 0 -> 1 bandwidth = 2
  coll.link 1 -> 0 bandwidth = 2
}
coll.schedule @one of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
}
// expected-error @+1 {{'coll.schedule' op is on topology @wide, but @one is on @pair}}
coll.schedule @two of broadcast on @wide chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}

//--- pair.mlir
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @sum of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
}
coll.schedule @spread of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
coll.schedule @third of broadcast on @pair chunks = 1 root = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
  }
}
