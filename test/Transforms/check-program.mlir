// RUN: sccl-opt %s -coll-check-program | FileCheck %s
// RUN: sccl-opt %s -coll-check-program | sccl-opt -coll-check-program -o /dev/null

// Programs that are right pass through unchanged.

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}

// CHECK-LABEL: coll.program @push
// CHECK: coll.wait ready from 1 value = 1
// CHECK-NEXT: coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT: coll.signal arrival to 1 value = 1
coll.program @push of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
}

// The receiver may read instead, once the owner has begun; a last signal keeps
// the owner's buffers from being reused too early.
// CHECK-LABEL: coll.program @pull
// CHECK: coll.get chunk 0 from input[0] to output[0] step = 0
coll.program @pull of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.get chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// A slot may be used twice if a chain of signals and waits orders all uses: the
// second put into scratch[0] waits until the first chunk is combined.
// CHECK-LABEL: coll.program @reuse
// CHECK: coll.local_reduce chunk 1 from input[1], scratch[0] to output[1] step = 1 final
coll.program @reuse of reduce on @pair chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
      coll.signal arrival to 0 value = 1
      coll.wait arrival from 1 value = 2
      coll.local_reduce chunk 1 from input[1], scratch[0] to output[1] step = 1 final
    }
    coll.channel to 1 {
      coll.wait arrival from 0 value = 1
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.put chunk 1 from input[1] to scratch[0] step = 1
      coll.signal arrival to 0 value = 2
    }
  }
}

// With scratch that is double-buffered rank 0 needs no ready: it hears of rank 1 in each
// launch, so rank 1 is at most one launch behind, in the other half.
// CHECK-LABEL: coll.program @double_buffered
// CHECK-NOT: ready
// CHECK: coll.program @kernels
coll.program @double_buffered of all_reduce on @pair chunks = 1 blocks = 1 double_buffered {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.wait arrival from 0 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
  }
}

// Barriers order everything: no flags.
// CHECK: coll.get_reduce
coll.program @kernels of all_reduce on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.barrier
      coll.barrier
      coll.get dma chunk 0 from output[0] to output[0] step = 1
      coll.barrier
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.barrier
      coll.get_reduce chunk 0 from input[0], input[0] to output[0] step = 0 final
      coll.barrier
      coll.barrier
    }
  }
}
