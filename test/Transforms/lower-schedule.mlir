// RUN: sccl-opt %s -coll-check-schedule -coll-lower-schedule | FileCheck %s
// RUN: sccl-opt %s -coll-lower-schedule=blocks-per-link=4 | FileCheck %s --check-prefix=BLOCKS

// After the pass no schedule remains.
// CHECK-NOT: coll.schedule
// BLOCKS: coll.program @relay of scatter on @line3 chunks = 3 root = 0 blocks = 4

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// Chunk 2 only passes through rank 1, in scratch; chunk 1 goes straight to the
// output. What a rank keeps is copied by its local channel.
// CHECK-LABEL: coll.program @relay of scatter on @line3 chunks = 3 root = 0 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.copy chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 1 from input[1] to output[0] step = 0
// CHECK-NEXT:         coll.put chunk 2 from input[2] to scratch[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 1 {
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.put chunk 2 from scratch[0] to output[0] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.schedule @relay of scatter on @line3 chunks = 3 root = 0 {
  coll.step rounds = 2 {
    coll.send 2 over 0 -> 1
    coll.send 1 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 2 over 1 -> 2
  }
}

// Chunks that lie side by side and move in one step become one transfer, in
// whatever order the sends come; chunks of different steps do not.
// CHECK-LABEL: coll.program @merge of broadcast on @line3 chunks = 4 root = 1 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.put chunk 1 count = 2 from input[1] to output[1] step = 0
// CHECK-NEXT:         coll.put chunk 0 from input[0] to output[0] step = 1
// CHECK-NEXT:         coll.put chunk 3 from input[3] to output[3] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.copy chunk 0 count = 4 from input[0] to output[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.put chunk 0 count = 2 from input[0] to output[0] step = 0
// CHECK-NEXT:         coll.put chunk 3 from input[3] to output[3] step = 0
// CHECK-NEXT:         coll.put chunk 2 from input[2] to output[2] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.schedule @merge of broadcast on @line3 chunks = 4 root = 1 {
  coll.step rounds = 4 {
    coll.send 2 over 1 -> 0
    coll.send 1 over 1 -> 0
    coll.send 3 over 1 -> 2
    coll.send 0 over 1 -> 2
    coll.send 1 over 1 -> 2
  }
  coll.step rounds = 2 {
    coll.send 0 over 1 -> 0
    coll.send 3 over 1 -> 0
    coll.send 2 over 1 -> 2
  }
}

// Rank 2 has chunks 0 and 1 side by side and sends them side by side, but they
// are of two segments (rank 0's and rank 1's), whose ends are not aligned.
coll.topology @line4 ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 3 unlimited
}
// CHECK-LABEL: coll.program @segments of gather on @line4 chunks = 1 root = 3 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 1 {
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.put chunk 0 from scratch[0] to scratch[0] step = 1
// CHECK-NEXT:         coll.put chunk 1 from input[0] to scratch[1] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 2 {
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 3 {
// CHECK-NEXT:         coll.put chunk 0 times = 2 by 1 from scratch[0 by 1] to output[0 by 1] step = 2
// CHECK-NEXT:         coll.put chunk 2 from input[0] to output[2] step = 2
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 3 scratch = 0 {
// CHECK-NEXT:       coll.channel to 3 {
// CHECK-NEXT:         coll.copy chunk 3 from input[0] to output[3] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.schedule @segments of gather on @line4 chunks = 1 root = 3 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 2 {
    coll.send 0 over 1 -> 2
    coll.send 1 over 1 -> 2
  }
  coll.step rounds = 3 {
    coll.send 0 over 2 -> 3
    coll.send 1 over 2 -> 3
    coll.send 2 over 2 -> 3
  }
}

// A reduce becomes a put into scratch and a combine by the receiver. Each
// combine makes a new version; the last one is the output.
// CHECK-LABEL: coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 3 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[2] step = 0{{$}}
// CHECK-NEXT:         coll.local_reduce chunk 0 from scratch[2], scratch[1] to output[0] step = 0 final{{$}}
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[1] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.schedule @sum of all_reduce on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2
  }
}

// In step 1 rank 1 sends the version it had before the step, while it combines
// what arrives into the next one.
// CHECK-LABEL: coll.program @versions of all_reduce on @line3 chunks = 1 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 7 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 2
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[3] step = 0{{$}}
// CHECK-NEXT:         coll.local_reduce chunk 0 from scratch[3], scratch[6] to output[0] step = 1 final
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.put chunk 0 from scratch[3] to scratch[0] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 3 {
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[6] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final{{$}}
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.schedule @versions of all_reduce on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 2
    coll.reduce 0 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
  }
}

// With `input` rank 0 sends its own input, not the version it has by then.
// CHECK-LABEL: coll.program @own_input of all_reduce on @line3 chunks = 1 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 2 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[0] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 3 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 2
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[2] step = 1{{$}}
// CHECK-NEXT:         coll.local_reduce chunk 0 from scratch[2], scratch[1] to output[0] step = 1 final{{$}}
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 2
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[1] step = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.schedule @own_input of all_reduce on @line3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
  coll.step rounds = 1 {
    coll.reduce input 0 over 0 -> 1
    coll.reduce 0 over 2 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2
  }
}
// CHECK-NOT: coll.schedule
