// RUN: sccl-opt %s -coll-fuse-reductions | FileCheck %s

// Copy engines do not combine.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
// CHECK-LABEL: coll.program @engines of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 2 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.get dma chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.put dma chunk 0 from scratch[1] to scratch[0] step = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 1 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @engines of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 0 {
      coll.get dma chunk 0 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
    }
    coll.channel to 2 {
      coll.put dma chunk 0 from scratch[1] to scratch[0] step = 1
    }
  }
  coll.rank 2 scratch = 1 {
    coll.channel to 2 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
}
