// RUN: sccl-opt %s -coll-repeat-transfers -coll-check-program | FileCheck %s
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-repeat-transfers=explain 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: sccl-opt %s -coll-repeat-transfers -coll-repeat-transfers | FileCheck %s

// Rank 0 spreads what each other rank wants of 9 chunks.
// EXPLAIN: remark: transfers that are repetitions of others: 6

coll.topology @all ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 0 -> 3 unlimited
}
coll.collective @some ranks = 4 chunks = 9 distinct = 9 {
  coll.pre 0 has [0, 1, 2, 3, 4, 5, 6, 7, 8]
  coll.post 0 has []
  coll.post 1 has [0, 2, 4, 5]
  coll.post 2 has [1, 3, 5, 6]
  coll.post 3 has [0, 1, 4, 6, 8]
}
// CHECK-LABEL: coll.program @spread
coll.program @spread of @some on @all chunks = 9 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // Even distances, up to the last one.
      // CHECK: coll.put chunk 0 times = 3 by 2 from input[0 by 2] to output[0 by 1] step = 0
      // CHECK-NEXT: coll.put chunk 5 from input[5] to output[3] step = 0
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.put chunk 2 from input[2] to output[1] step = 0
      coll.put chunk 4 from input[4] to output[2] step = 0
      coll.put chunk 5 from input[5] to output[3] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      // Not across steps, nor across a signal.
      // CHECK: coll.put chunk 1 times = 2 by 2 from input[1 by 2] to output[0 by 1] step = 0
      // CHECK-NEXT: coll.put chunk 5 from input[5] to output[2] step = 1
      // CHECK-NEXT: coll.signal
      // CHECK-NEXT: coll.put chunk 6 from input[6] to output[3] step = 1
      coll.put chunk 1 from input[1] to output[0] step = 0
      coll.put chunk 3 from input[3] to output[1] step = 0
      coll.put chunk 5 from input[5] to output[2] step = 1
      coll.signal arrival to 2 value = 1
      coll.put chunk 6 from input[6] to output[3] step = 1
      coll.signal arrival to 2 value = 2
    }
    coll.channel to 3 {
      coll.wait ready from 3 value = 1
      // Distances are even in each buffer; they need not be the same.
      // CHECK: coll.put chunk 0 times = 3 by 4 from input[0 by 4] to output[0 by 2] step = 0
      // CHECK-NEXT: coll.put chunk 1 times = 2 by 5 from input[1 by 5] to output[1 by 2] step = 0
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.put chunk 4 from input[4] to output[2] step = 0
      coll.put chunk 8 from input[8] to output[4] step = 0
      coll.put chunk 1 from input[1] to output[1] step = 0
      coll.put chunk 6 from input[6] to output[3] step = 0
      coll.signal arrival to 3 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 2
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 3 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
}
