// RUN: sccl-opt %s -coll-insert-flag-sync | FileCheck %s
// RUN: sccl-opt %s -coll-insert-flag-sync -coll-insert-flag-sync | FileCheck %s

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// Two steps on one channel signal twice; the relay waits for the second arrival
// only when it first needs what came with it.
// CHECK-LABEL: coll.program @relay of broadcast on @line3 chunks = 2 root = 0 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.wait ready from 1 value = 1
// CHECK-NEXT:         coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:         coll.signal arrival to 1 value = 1
// CHECK-NEXT:         coll.put chunk 1 from input[1] to output[1] step = 1
// CHECK-NEXT:         coll.signal arrival to 1 value = 2
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 0 {
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.signal ready to 0 value = 1
// CHECK-NEXT:         coll.wait arrival from 0 value = 2
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.wait ready from 2 value = 1
// CHECK-NEXT:         coll.wait arrival from 0 value = 1
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:         coll.signal arrival to 2 value = 1
// CHECK-NEXT:         coll.wait arrival from 0 value = 2
// CHECK-NEXT:         coll.put chunk 1 from output[1] to output[1] step = 2
// CHECK-NEXT:         coll.signal arrival to 2 value = 2
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.signal ready to 1 value = 1
// CHECK-NEXT:         coll.wait arrival from 1 value = 2
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.program @relay of broadcast on @line3 chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.put chunk 1 from input[1] to output[1] step = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
    }
    coll.channel to 2 {
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.put chunk 1 from output[1] to output[1] step = 2
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
    }
  }
}

// The local channel combines; the channels that pass its result on wait for its
// signal, and inputs need no wait.
// CHECK-LABEL: coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.signal ready to 1 value = 1
// CHECK-NEXT:         coll.wait arrival from 1 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.wait ready from 1 value = 1
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:         coll.signal arrival to 1 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 3 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.wait ready from 0 value = 1
// CHECK-NEXT:         coll.wait arrival from 1 value = 1
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:         coll.signal arrival to 0 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.signal ready to 0 value = 1
// CHECK-NEXT:         coll.signal ready to 2 value = 1
// CHECK-NEXT:         coll.wait arrival from 0 value = 1
// CHECK-NEXT:         coll.wait arrival from 2 value = 1
// CHECK-NEXT:         coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
// CHECK-NEXT:         coll.local_reduce chunk 0 from scratch[1], scratch[2] to output[0] step = 0
// CHECK-NEXT:         coll.signal arrival to 1 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.wait ready from 2 value = 1
// CHECK-NEXT:         coll.wait arrival from 1 value = 1
// CHECK-NEXT:         coll.put chunk 0 from output[0] to output[0] step = 1
// CHECK-NEXT:         coll.signal arrival to 2 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.wait ready from 1 value = 1
// CHECK-NEXT:         coll.put chunk 0 from input[0] to scratch[2] step = 0
// CHECK-NEXT:         coll.signal arrival to 1 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:         coll.signal ready to 1 value = 1
// CHECK-NEXT:         coll.wait arrival from 1 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.program @sum of all_reduce on @line3 chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 0 {
      coll.put chunk 0 from output[0] to output[0] step = 1
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0
      coll.local_reduce chunk 0 from scratch[1], scratch[2] to output[0] step = 0
    }
    coll.channel to 2 {
      coll.put chunk 0 from output[0] to output[0] step = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[2] step = 0
    }
    coll.channel to 2 {
    }
  }
}

// Two puts of one step share a signal. A local copy that nobody waits for is
// not signalled.
// CHECK-LABEL: coll.program @shared of broadcast on @line3 chunks = 2 root = 1 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.signal ready to 1 value = 1
// CHECK-NEXT:         coll.wait arrival from 1 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.wait ready from 0 value = 1
// CHECK-NEXT:         coll.put chunk 1 from input[1] to output[1] step = 0
// CHECK-NEXT:         coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:         coll.signal arrival to 0 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:       coll.channel to 1 {
// CHECK-NEXT:         coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:       coll.channel to 2 {
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.program @shared of broadcast on @line3 chunks = 2 root = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 1 from input[1] to output[1] step = 0
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
    }
  }
}

// A program that has a signal or a wait already stays as it is.
// CHECK-LABEL: coll.program @by_hand of broadcast on @line3 chunks = 1 root = 1 blocks = 1 {
// CHECK-NEXT:     coll.rank 0 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.wait arrival from 1 value = 1
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 1 scratch = 0 {
// CHECK-NEXT:       coll.channel to 0 {
// CHECK-NEXT:         coll.put chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     coll.rank 2 scratch = 0 {
// CHECK-NEXT:     }
// CHECK-NEXT:   }
coll.program @by_hand of broadcast on @line3 chunks = 1 root = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.wait arrival from 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
  }
}

// A pull: the reader waits for the ready of the owner, for the channel that made
// what it reads, whoever that belongs to, and tells the owner when it has read.
// The owner ends after that. What a rank's own channels need is signalled, too.
// CHECK-LABEL: coll.program @pulled of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 0 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.copy chunk 0 from input[0] to output[0] step = 0
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 1 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait ready from 0 value = 1
// CHECK-NEXT:        coll.get chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:        coll.signal arrival to 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.signal ready to 2 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 channel = 0 value = 1
// CHECK-NEXT:        coll.copy chunk 0 from scratch[0] to output[0] step = 0
// CHECK-NEXT:        coll.wait arrival from 2 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:        coll.wait arrival from 1 channel = 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 channel = 0 value = 1
// CHECK-NEXT:        coll.get chunk 0 from scratch[0] to output[0] step = 1
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @pulled of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 0 {
      coll.get chunk 0 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 1 {
      coll.get chunk 0 from scratch[0] to output[0] step = 1
    }
  }
}

// Transfers of one step that need something of that step are a group behind those
// that do not: else rank 0 and rank 1 would wait for each other.
// CHECK-LABEL: coll.program @depth of all_reduce on @line3 chunks = 1 blocks = 1 {
// CHECK-NEXT:    coll.rank 0 scratch = 1 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.signal ready to 1 value = 1
// CHECK-NEXT:        coll.wait arrival from 1 value = 1
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.wait ready from 1 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 1
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.put chunk 0 from output[0] to scratch[1] step = 0
// CHECK-NEXT:        coll.signal arrival to 1 value = 2
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 1 scratch = 2 {
// CHECK-NEXT:      coll.channel to 0 {
// CHECK-NEXT:        coll.wait ready from 0 value = 1
// CHECK-NEXT:        coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:        coll.signal arrival to 0 value = 1
// CHECK-NEXT:      }
// CHECK-NEXT:      coll.channel to 1 {
// CHECK-NEXT:        coll.signal ready to 0 value = 1
// CHECK-NEXT:        coll.wait arrival from 0 value = 1
// CHECK-NEXT:        coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0
// CHECK-NEXT:        coll.wait arrival from 0 value = 2
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.rank 2 scratch = 0 {
// CHECK-NEXT:      coll.channel to 2 {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
coll.program @depth of all_reduce on @line3 chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.put chunk 0 from output[0] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
  }
}
