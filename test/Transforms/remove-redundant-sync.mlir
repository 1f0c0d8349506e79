// RUN: sccl-opt %s -coll-check-program -coll-remove-redundant-sync | FileCheck %s
// RUN: sccl-opt %s -coll-remove-redundant-sync -coll-remove-redundant-sync | FileCheck %s
// RUN: sccl-opt %s -coll-remove-redundant-sync -coll-check-program | FileCheck %s
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-remove-redundant-sync=explain 2>&1 | FileCheck %s --check-prefix=COUNTS --implicit-check-not=remark:
// RUN: sccl-opt %s -coll-remove-redundant-sync 2>&1 | FileCheck %s --implicit-check-not=remark:

// COUNTS: remark: waits removed: 3, signals removed: 4, waits for ready removed because scratch is double-buffered: 0
// COUNTS: remark: waits removed: 2, signals removed: 2, waits for ready removed because scratch is double-buffered: 0
// COUNTS: remark: waits removed: 2, signals removed: 1, waits for ready removed because scratch is double-buffered: 0
// COUNTS: remark: waits removed: 1, signals removed: 1, waits for ready removed because scratch is double-buffered: 0
// COUNTS: remark: waits removed: 0, signals removed: 2, waits for ready removed because scratch is double-buffered: 2
// COUNTS: remark: waits removed: 0, signals removed: 0, waits for ready removed because scratch is double-buffered: 0

coll.topology @triangle ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 2 -> 0 unlimited
}

// Rank 2's last wait for rank 0 says nothing new: rank 1 put its chunk after all
// that rank 0 did. Rank 1's wait for rank 2's ready neither: rank 0 has waited for
// that before. The local channel of rank 1 need not wait for what the other one
// waits for. The signals for all this go, too, and so do those that nobody ever
// waited for: of three values of the flag to rank 1 the second one is left, as 1.
// CHECK-LABEL: coll.program @transitive of broadcast on @triangle chunks = 3 root = 0 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.copy chunk 0 count = 3 from input[0] to output[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.wait ready from 2 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.put chunk 1 count = 2 from input[1] to output[1] step = 1
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.put chunk 0 count = 3 from output[0] to output[0] step = 2
// CHECK-NEXT:        coll.signal arrival to 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @transitive of broadcast on @triangle chunks = 3 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 count = 3 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.wait ready from 2 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
      coll.put chunk 1 count = 2 from input[1] to output[1] step = 1
      coll.signal arrival to 1 value = 2
      coll.signal arrival to 2 value = 1
      coll.signal arrival to 1 value = 3
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 2
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.wait arrival from 0 value = 2
      coll.put chunk 0 count = 3 from output[0] to output[0] step = 2
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.signal ready to 0 value = 1
      coll.signal ready to 1 value = 1
      coll.wait arrival from 0 channel = 1 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
}

// An arrival from a rank says that its launch has begun, so nobody need wait for
// its ready as well, whichever of the two is written first. Rank 1's first wait is
// one of that kind; rank 0's ready comes before anything it hears, and stays.
// CHECK-LABEL: coll.program @ready of all_reduce on @triangle chunks = 1 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 3 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.signal ready to 2 value = 1
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 2 value = 1
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
// CHECK-NEXT:        coll.local_reduce chunk 0 from scratch[1], scratch[2] to output[0] step = 0 final
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:        coll.signal arrival to 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[2] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @ready of all_reduce on @triangle chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.wait arrival from 1 value = 1
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.signal ready to 2 value = 1
      coll.wait arrival from 0 value = 1
      coll.wait arrival from 2 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
      coll.local_reduce chunk 0 from scratch[1], scratch[2] to output[0] step = 0 final
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.wait arrival from 1 value = 1
      coll.wait ready from 2 value = 1
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[2] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
}

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}

// What the last waits of a rank guard, its other channels may guard: rank 0 gets
// from rank 1 when that has read from rank 0, so that its local channel has nothing
// left to wait for. Rank 1 has to wait until rank 0 has read.
// CHECK-LABEL: coll.program @final of all_gather on @pair chunks = 1 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.copy chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.get chunk 1 from output[1] to output[1] step = 1
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait ready from 0 value = 1
// CHECK-NEXT:        coll.get chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.copy chunk 1 from input[0] to output[1] step = 0
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @final of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.get chunk 1 from output[1] to output[1] step = 1
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.get chunk 0 from input[0] to output[0] step = 0
      coll.copy chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
}

// Two signals after the same transfers say the same: the second one is to rank 1
// itself, whose other channel waits for it before it signals rank 0.
// CHECK-LABEL: coll.program @same_place of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.copy chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.wait arrival from 1 channel = 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 1 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait ready from 0 value = 1
// CHECK-NEXT:        coll.get chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait arrival from 1 channel = 0 value = 1
// CHECK-NEXT:        coll.copy chunk 0 from scratch[0] to output[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @same_place of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
      coll.wait arrival from 1 channel = 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.get chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.wait arrival from 1 channel = 0 value = 1
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// With scratch that is double-buffered a rank need not wait for the ready of a rank whose
// scratch alone it writes, if it hears of that rank in each launch by itself: ranks
// 0 and 1 exchange. Rank 0 hears nothing of rank 2, and goes on waiting for it.
// CHECK-LABEL: coll.program @halves of broadcast on @triangle chunks = 2 root = 0 blocks = 1 double_buffered {
// CHECK-NEXT:    coll.rank 0 scratch = 1 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait ready from 2 value = 1
// CHECK-NEXT:        coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 2 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.put chunk 0 from scratch[0] to scratch[0] step = 1
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.copy chunk 0 count = 2 from scratch[0] to output[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 2 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.copy chunk 0 count = 2 from scratch[0] to output[0] step = 0
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @halves of broadcast on @triangle chunks = 2 root = 0 blocks = 1 double_buffered {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.put chunk 0 from scratch[0] to scratch[0] step = 1
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.copy chunk 0 count = 2 from scratch[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 2 {
    coll.channel to 2 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.copy chunk 0 count = 2 from scratch[0] to output[0] step = 0
    }
  }
}

// Nothing changes for outputs: scratch alone is double-buffered.
// CHECK-LABEL: coll.program @outputs of all_gather on @triangle chunks = 1 blocks = 1 double_buffered {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.signal ready to 2 value = 1
// CHECK-NEXT:        coll.copy chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.wait arrival from 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait ready from 2 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait ready from 0 value = 1
// CHECK-NEXT:        coll.put chunk 1 from input[0] to output[1] step = 0
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.signal ready to 2 value = 1
// CHECK-NEXT:        coll.copy chunk 1 from input[0] to output[1] step = 0
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait ready from 2 value = 1
// CHECK-NEXT:        coll.put chunk 1 from input[0] to output[1] step = 0
// CHECK-NEXT:        coll.signal arrival to 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait ready from 0 value = 1
// CHECK-NEXT:        coll.put chunk 2 from input[0] to output[2] step = 0
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.put chunk 2 from input[0] to output[2] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.copy chunk 2 from input[0] to output[2] step = 0
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @outputs of all_gather on @triangle chunks = 1 blocks = 1 double_buffered {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.signal ready to 2 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
      coll.wait arrival from 2 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.signal ready to 2 value = 1
      coll.copy chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 value = 1
      coll.wait arrival from 2 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 2 from input[0] to output[2] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 2 from input[0] to output[2] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.signal ready to 0 value = 1
      coll.signal ready to 1 value = 1
      coll.copy chunk 2 from input[0] to output[2] step = 0
      coll.wait arrival from 0 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
}
