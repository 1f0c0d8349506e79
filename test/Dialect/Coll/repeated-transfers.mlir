// RUN: sccl-opt %s -verify-roundtrip | FileCheck %s
// RUN: sccl-opt %s -coll-check-program -o /dev/null
// RUN: sccl run %s --bytes=56 --iterations=20 | FileCheck %s --check-prefix=EXEC

// A transfer may be repeated at even distances, which need not be the same in
// all buffers.
// EXEC: #wrong 0 of {{[1-9]}}

coll.topology @star ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 0 -> 3 unlimited
}

// CHECK-LABEL: coll.program @to_all
// CHECK: coll.copy chunk 0 times = 2 by 1 from input[0 by 1] to output[0 by 1] step = 0
// CHECK: coll.put chunk 0 times = 2 by 1 from input[0 by 1] to scratch[0 by 2] step = 0
// CHECK: coll.copy chunk 0 times = 2 by 1 from scratch[0 by 2] to output[0 by 1] step = 0
coll.program @to_all of @spread on @star chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 times = 2 by 1 from input[0 by 1] to output[0 by 1] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 times = 2 by 1 from input[0 by 1] to scratch[0 by 2] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 0 times = 2 by 1 from input[0 by 1] to output[0 by 1] step = 0
      coll.signal arrival to 2 value = 1
    }
    coll.channel to 3 {
      coll.wait ready from 3 value = 1
      coll.put chunk 1 from input[1] to output[0] step = 0
      coll.signal arrival to 3 value = 1
    }
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.copy chunk 0 times = 2 by 1 from scratch[0 by 2] to output[0 by 1] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 3 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
}

coll.collective @spread ranks = 4 chunks = 2 distinct = 2 {
  coll.pre 0 has [0, 1]
  coll.post 0 has [0, 1]
  coll.post 1 has [0, 1]
  coll.post 2 has [0, 1]
  coll.post 3 has [1]
}
