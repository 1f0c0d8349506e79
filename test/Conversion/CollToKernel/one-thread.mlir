// RUN: sccl-opt %s -convert-coll-to-kernel=host | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel | FileCheck %s --check-prefix=BLOCKS

// On a host one thread executes all channels of a rank, so what one channel has
// waited for, no other waits for. Blocks of a GPU do not know of each other.

// CHECK-LABEL: collk.kernel @fan_rank0
// CHECK-COUNT-1: collk.wait
// CHECK-NOT:     collk.wait
// CHECK-LABEL: collk.kernel @fan_rank1

// BLOCKS-LABEL: collk.kernel @fan_rank0
// BLOCKS-COUNT-2: collk.wait
// BLOCKS-LABEL: collk.kernel @fan_rank1
coll.topology @star ranks = 4 {
  coll.link 1 -> 0 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 0 -> 3 bandwidth = 1
}
coll.program @fan of broadcast on @star chunks = 1 root = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 2 {
      coll.wait arrival from 1 value = 1
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 2 value = 1
    }
    coll.channel to 3 {
      coll.wait arrival from 1 value = 1
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 3 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.wait arrival from 0 value = 1
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 3 {
      coll.wait arrival from 0 value = 1
    }
  }
}
