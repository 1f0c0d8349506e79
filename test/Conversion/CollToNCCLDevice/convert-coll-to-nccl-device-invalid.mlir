// RUN: sccl-opt %s -split-input-file -convert-coll-to-nccl-device=ranks-per-box=1 -verify-diagnostics
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device="ranks-per-box=1 transport=pull" 2>&1 | FileCheck %s --check-prefix=PULL
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device="ranks-per-box=1 ll" 2>&1 | FileCheck %s --check-prefix=LL
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device="ranks-per-box=1 steps" 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device=ranks-per-box=3 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device=block-size=100 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device=chip=gfx942 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device=code-shape=table 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device=virtual-ranks 2>&1 | FileCheck %s --check-prefix=VIRTUAL
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-to-nccl-device=traced 2>&1 | FileCheck %s --check-prefix=TRACED
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -convert-coll-to-nccl-device 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not sccl-opt %S/../../Tools/Inputs/ring4-all_reduce.mlir -sccl-lower -convert-coll-to-nccl-device=ranks-per-box=1 2>&1 | FileCheck %s --check-prefix=FUSED
// RUN: not sccl-opt %S/Inputs/mixed-boxes.mlir -sccl-to-nccl-device 2>&1 | FileCheck %s --check-prefix=MIXED

// PULL: 'collk.copy' op of rank {{[0-3]}} reads memory of rank {{[0-3]}} in another box; only a push gets there (transport = push)
// LL: 'collk.copy' op of rank {{[0-3]}} sends LL words to rank {{[0-3]}} in another box, which gets there as bytes in any order
// STEPS: 'coll.barrier' op is where hosts would have to meet; lower without steps
// UNEVEN: 'coll.program' op has 4 ranks, which ranks-per-box = 3 does not divide
// SIZE: block-size is 100, expected a multiple of 64 between 64 and 1024
// AMD: NCCL is for NVIDIA chips, and gfx942 is an AMD chip
// TABLE: code-shape = table is not for kernels that call NCCL's device functions
// VIRTUAL: virtual-ranks is not for kernels that call NCCL's device functions
// TRACED: traced is not for kernels that call NCCL's device functions
// SCHEDULE: 'coll.schedule' op is not a program yet
// FUSED: 'collk.reduce' op of rank {{[0-3]}} reduces into memory of rank {{[0-3]}} in another box; lower without coll-fuse-reductions
// MIXED: 'coll.program' op is for boxes that are not of the same number of ranks in a row, as LSA teams are

// Rank 2 has been told of the chunk by rank 1, to which rank 0 has not put it.
coll.topology @triangle ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
}
coll.program @third of broadcast on @triangle chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.wait arrival from 0 channel = 2 value = 1
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 1 {
    coll.channel to 2 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 1 channel = 1 value = 1
      // expected-error @+1 {{of rank 2 reads what rank 0 has put into memory of rank 2 from another box, without waiting for it itself; lower without coll-remove-redundant-sync}}
      coll.copy chunk 0 from output[0] to scratch[0] step = 1
      coll.wait arrival from 0 value = 1
    }
  }
}

// -----

// Nobody is told.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.program @silent of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-error @+1 {{of rank 0 puts a chunk into another box, and does not tell rank 1}}
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
    }
  }
}

// -----

// Rank 1 is told, and does not listen.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.program @deaf of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-error @+1 {{of rank 0 puts a chunk into another box, and rank 1 may return without waiting for it}}
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
    }
  }
}

// -----

// Two chunks come to one place, one after the other.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.program @again of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-error @+1 {{of rank 0 puts a chunk where another one has been put from another box}}
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 1
      coll.signal arrival to 1 value = 2
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 2
    }
  }
}
