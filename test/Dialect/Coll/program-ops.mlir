// RUN: sccl-opt %s --verify-roundtrip | FileCheck %s
// RUN: sccl-opt %s --mlir-print-op-generic | sccl-opt | FileCheck %s

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}

// Every op of the program level; a count of 1 is not printed.
// CHECK-LABEL: coll.program @p of all_reduce on @pair chunks = 2 blocks = 64 {
// CHECK-NEXT:    coll.rank 0 scratch = 3 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.copy chunk 0 count = 2 from input[0] to scratch[1] step = 0
// CHECK-NEXT:        coll.local_reduce chunk 1 from input[1], scratch[0] to output[1] step = 4
// CHECK-NEXT:        coll.local_reduce chunk 0 count = 2 from scratch[1], input[0] to output[0] step = 4 final
// CHECK-NEXT:        coll.wait arrival from 1 value = 2
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 attributes {lane = 1 : i64} {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.put chunk 1 from input[1] to scratch[0] step = 0
// CHECK-NEXT:        coll.put chunk 0 count = 2 from scratch[1] to output[0] step = 1
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:        coll.get chunk 0 from input[0] to scratch[2] step = 1
// CHECK-NEXT:        coll.get chunk 0 count = 2 from output[0] to output[0] step = 2
// CHECK-NEXT:        coll.signal arrival to 1 value = 2
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 1 {
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @p of all_reduce on @pair chunks = 2 blocks = 64 {
  coll.rank 0 scratch = 3 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 count = 2 from input[0] to scratch[1] step = 0
      coll.local_reduce chunk 1 count = 1 from input[1], scratch[0] to output[1] step = 4
      coll.local_reduce chunk 0 count = 2 from scratch[1], input[0] to output[0] step = 4 final
      coll.wait arrival from 1 value = 2
    }
    coll.channel to 1 attributes {lane = 1 : i64} {
      coll.wait ready from 1 value = 1
      coll.put chunk 1 count = 1 from input[1] to scratch[0] step = 0
      coll.put chunk 0 count = 2 from scratch[1] to output[0] step = 1
      coll.signal arrival to 1 value = 1
      coll.get chunk 0 from input[0] to scratch[2] step = 1
      coll.get chunk 0 count = 2 from output[0] to output[0] step = 2
      coll.signal arrival to 1 value = 2
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// CHECK-LABEL: coll.program @b of broadcast on @pair chunks = 1 root = 1 blocks = 1 {
coll.program @b of broadcast on @pair chunks = 1 root = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
    }
  }
}

// What the fusion of combines and copy engines add. A wait names the channel of
// the peer where it is not the one to this rank.
// CHECK-LABEL: coll.program @fused of all_reduce on @pair chunks = 2 blocks = 1 double_buffered {
// CHECK-NEXT:    coll.rank 0 scratch = 2 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait arrival from 1 channel = 1 value = 3
// CHECK-NEXT:        coll.wait arrival from 0 channel = 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.reduce_put chunk 0 count = 2 from input[0], scratch[0] to scratch[0] step = 1
// CHECK-NEXT:        coll.reduce_put chunk 1 from scratch[1], input[1] to output[1] step = 1
// CHECK-NEXT:        coll.get_reduce chunk 0 from scratch[1], input[0] to output[0] step = 2
// CHECK-NEXT:        coll.get_reduce chunk 0 count = 2 from input[0], scratch[0] to scratch[0] step = 2
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
coll.program @fused of all_reduce on @pair chunks = 2 blocks = 1 double_buffered {
  coll.rank 0 scratch = 2 {
    coll.channel to 1 {
      coll.wait arrival from 1 channel = 1 value = 3
      coll.wait arrival from 0 channel = 0 value = 1
      coll.wait arrival from 1 value = 1
      coll.reduce_put chunk 0 count = 2 from input[0], scratch[0] to scratch[0] step = 1
      coll.reduce_put chunk 1 count = 1 from scratch[1], input[1] to output[1] step = 1
      coll.get_reduce chunk 0 from scratch[1], input[0] to output[0] step = 2
      coll.get_reduce chunk 0 count = 2 from input[0], scratch[0] to scratch[0] step = 2
      coll.signal arrival to 0 value = 1
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 2 {
  }
}

// CHECK-LABEL: coll.program @kernels of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
// CHECK:           coll.channel to 0 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.get dma chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.barrier {last}
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:        coll.barrier
// CHECK-NEXT:      }
coll.program @kernels of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.barrier
      coll.put dma chunk 0 from input[0] to output[0] step = 0
      coll.barrier
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.barrier
      coll.get dma chunk 0 from input[0] to output[0] step = 0
      coll.barrier {last}
    }
    coll.channel to 1 {
      coll.barrier
      coll.barrier
    }
  }
}
