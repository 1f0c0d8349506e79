// RUN: sccl-opt %s -split-input-file -verify-diagnostics \
// RUN:   -coll-check-residency="chip=sm_75 block-size=512"
// RUN: not sccl-opt %s -split-input-file -coll-check-residency="resident-blocks=79" \
// RUN:   2>&1 | FileCheck %s --check-prefix=TOLD
// RUN: sccl-opt %s -split-input-file -coll-check-residency="resident-blocks=80" \
// RUN:   -o %t.mlir
// RUN: not sccl-opt %s -split-input-file -coll-check-residency="chip=sm_61" 2>&1 | \
// RUN:   FileCheck %s --check-prefix=CHIP
// RUN: not sccl-opt %s -split-input-file \
// RUN:   -coll-check-residency="resident-blocks=80 virtual-ranks" 2>&1 | \
// RUN:   FileCheck %s --check-prefix=VIRTUAL

// TOLD: error: 'coll.rank' op needs 80 blocks resident together, but the GPU is said to hold 79 (D3)
// CHIP: error: how many blocks 'sm_61' holds is not known; resident-blocks must say it (D3)
// VIRTUAL: error: 'coll.rank' op and those before it need 120 blocks resident together, but the GPU is said to hold 80 (D3)

// A rank has a block for each channel, times 40: rank 1 needs two T4, each of which
// holds one of 512 threads on a multiprocessor.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.program @bc of broadcast on @pair chunks = 1 root = 1 blocks = 40 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
  // expected-error @+1 {{'coll.rank' op needs 80 blocks resident together, but a T4 (sm_75) holds only 40 in any case; if the GPU is another, say what it holds with resident-blocks (D3)}}
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
}

// -----

// Kernels of a step do not wait.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.program @steps of broadcast on @pair chunks = 1 root = 1 blocks = 60 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.barrier
      coll.barrier
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.barrier
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.barrier
    }
    coll.channel to 1 {
      coll.barrier
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.barrier
    }
  }
}
