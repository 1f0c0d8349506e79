// RUN: sccl-opt %s -coll-choose-transport | FileCheck %s --check-prefixes=GIVEN,CHECK
// RUN: sccl-opt %s -coll-choose-transport=link-transport=2-1:push | FileCheck %s --check-prefixes=OVERRULED
// RUN: sccl-opt %s -coll-choose-transport=transport=push | FileCheck %s --check-prefixes=PUSH,CHECK
// RUN: sccl-opt %s -coll-choose-transport=transport=pull | FileCheck %s --check-prefixes=PULL,CHECK
// RUN: sccl-opt %s -coll-choose-transport=transport=dma | FileCheck %s --check-prefixes=DMA,CHECK
// RUN: sccl-opt %s -coll-choose-transport="transport=pull link-transport=0-1:push,1-2:dma" | FileCheck %s --check-prefixes=LINKS
// RUN: sccl-opt %s -coll-choose-transport="transport=auto steps bytes=0" | FileCheck %s --check-prefixes=PUSH
// RUN: sccl-opt %s -coll-choose-transport="transport=auto steps bytes=1000000000" | FileCheck %s --check-prefixes=DMA
// RUN: sccl-opt %s -coll-choose-transport="transport=auto bytes=1000000000" | FileCheck %s --check-prefixes=PUSH

// Why: the estimate is alpha for each step that uses a link, and beta for each byte
// of its chunks over its bandwidth. With neither latency nor bandwidth all are
// equal, and push wins.
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-choose-transport="transport=auto steps bytes=1000000000 link-transport=1-0:pull explain" 2>&1 | FileCheck %s --check-prefix=EXPLAIN --implicit-check-not=remark:
// EXPLAIN: choose-transport.mlir:[[# @LINE + 89]]:1: remark: link 1 -> 0 (1 send): pull, as the option for the link says
// EXPLAIN: remark: link 1 -> 2 (1 send): dma, estimated for 1000000000 bytes: push 20000.7 us, pull 21506.1 us, dma 18870.2 us
// EXPLAIN: remark: links 0 -> 1, 2 -> 1 (4 sends): dma, estimated for 1000000000 bytes: push 40000.7 us, pull 43011.5 us, dma 37738.1 us
//
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-choose-transport="transport=auto steps alpha=0 beta=0 explain" 2>&1 | FileCheck %s --check-prefix=TIE
// TIE: remark: links 0 -> 1, 1 -> 0, 1 -> 2, 2 -> 1 (6 sends): push, estimated for 1048576 bytes: push 0.0 us, pull 0.0 us, dma 0.0 us
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-choose-transport="transport=auto alpha=10 beta=1 bytes=1 explain" 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: remark: links 1 -> 0, 1 -> 2 (2 sends): push, estimated for 1 bytes: push 10.5 us, pull 20.5 us{{$}}
// MODEL: remark: links 0 -> 1, 2 -> 1 (4 sends): pull, estimated for 1 bytes: push 21.0 us, pull 11.1 us{{$}}
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-choose-transport="transport=pull explain" 2>&1 | FileCheck %s --check-prefix=NAMED
// NAMED: remark: links 0 -> 1, 1 -> 0, 1 -> 2, 2 -> 1 (6 sends): pull, as the option says
// RUN: sccl-opt %s -o %t -mlir-print-op-on-diagnostic=false -coll-choose-transport=explain 2>&1 | FileCheck %s --check-prefix=WHY --implicit-check-not=remark:
// WHY: remark: link 2 -> 1 (1 send): push, as the schedule says
// WHY: remark: links 0 -> 1, 1 -> 0 (2 sends): push, by default
// WHY: remark: links 1 -> 2, 2 -> 1 (2 sends): pull, as the schedule says
// WHY: remark: link 0 -> 1 (1 send): dma, as the schedule says
//

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 1 unlimited
}

// Without an option the schedule decides, else what it says does not matter.
// GIVEN-LABEL: coll.schedule @sum of all_reduce on @line3 chunks = 2 {
// GIVEN-NEXT:    coll.step rounds = 2 {
// GIVEN-NEXT:      coll.reduce 0 over 0 -> 1 by push
// GIVEN-NEXT:      coll.reduce 1 over 0 -> 1 by dma
// GIVEN-NEXT:      coll.reduce 0 over 2 -> 1 by pull
// GIVEN-NEXT:      coll.reduce 1 over 2 -> 1 by push
// GIVEN-NEXT:    }
// GIVEN-NEXT:    coll.step rounds = 2 {
// GIVEN-NEXT:      coll.send 0 over 1 -> 0 by push
// GIVEN-NEXT:      coll.send 0 over 1 -> 2 by pull
// GIVEN-NEXT:    }
// GIVEN-NEXT:  }
// OVERRULED-LABEL: coll.schedule @sum of all_reduce on @line3 chunks = 2 {
// OVERRULED:           coll.reduce 1 over 0 -> 1 by dma
// OVERRULED-NEXT:      coll.reduce 0 over 2 -> 1 by push
// PUSH-LABEL: coll.schedule @sum of all_reduce on @line3 chunks = 2 {
// PUSH-NEXT:    coll.step rounds = 2 {
// PUSH-NEXT:      coll.reduce 0 over 0 -> 1 by push
// PUSH-NEXT:      coll.reduce 1 over 0 -> 1 by push
// PUSH-NEXT:      coll.reduce 0 over 2 -> 1 by push
// PUSH-NEXT:      coll.reduce 1 over 2 -> 1 by push
// PUSH-NEXT:    }
// PUSH-NEXT:    coll.step rounds = 2 {
// PUSH-NEXT:      coll.send 0 over 1 -> 0 by push
// PUSH-NEXT:      coll.send 0 over 1 -> 2 by push
// PUSH-NEXT:    }
// PUSH-NEXT:  }
// PULL-LABEL: coll.schedule @sum of all_reduce on @line3 chunks = 2 {
// PULL-NEXT:    coll.step rounds = 2 {
// PULL-NEXT:      coll.reduce 0 over 0 -> 1 by pull
// PULL-NEXT:      coll.reduce 1 over 0 -> 1 by pull
// PULL-NEXT:      coll.reduce 0 over 2 -> 1 by pull
// PULL-NEXT:      coll.reduce 1 over 2 -> 1 by pull
// PULL-NEXT:    }
// PULL-NEXT:    coll.step rounds = 2 {
// PULL-NEXT:      coll.send 0 over 1 -> 0 by pull
// PULL-NEXT:      coll.send 0 over 1 -> 2 by pull
// PULL-NEXT:    }
// PULL-NEXT:  }
// DMA-LABEL: coll.schedule @sum of all_reduce on @line3 chunks = 2 {
// DMA-NEXT:    coll.step rounds = 2 {
// DMA-NEXT:      coll.reduce 0 over 0 -> 1 by dma
// DMA-NEXT:      coll.reduce 1 over 0 -> 1 by dma
// DMA-NEXT:      coll.reduce 0 over 2 -> 1 by dma
// DMA-NEXT:      coll.reduce 1 over 2 -> 1 by dma
// DMA-NEXT:    }
// DMA-NEXT:    coll.step rounds = 2 {
// DMA-NEXT:      coll.send 0 over 1 -> 0 by dma
// DMA-NEXT:      coll.send 0 over 1 -> 2 by dma
// DMA-NEXT:    }
// DMA-NEXT:  }
// LINKS-LABEL: coll.schedule @sum of all_reduce on @line3 chunks = 2 {
// LINKS-NEXT:    coll.step rounds = 2 {
// LINKS-NEXT:      coll.reduce 0 over 0 -> 1 by push
// LINKS-NEXT:      coll.reduce 1 over 0 -> 1 by push
// LINKS-NEXT:      coll.reduce 0 over 2 -> 1 by pull
// LINKS-NEXT:      coll.reduce 1 over 2 -> 1 by pull
// LINKS-NEXT:    }
// LINKS-NEXT:    coll.step rounds = 2 {
// LINKS-NEXT:      coll.send 0 over 1 -> 0 by pull
// LINKS-NEXT:      coll.send 0 over 1 -> 2 by dma
// LINKS-NEXT:    }
// LINKS-NEXT:  }
coll.schedule @sum of all_reduce on @line3 chunks = 2 {
  coll.step rounds = 2 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 1 over 0 -> 1 by dma
    coll.reduce 0 over 2 -> 1 by pull
    coll.reduce 1 over 2 -> 1 by push
  }
  coll.step rounds = 2 {
    coll.send 0 over 1 -> 0
    coll.send 0 over 1 -> 2 by pull
  }
}

// A program has been lowered; it stays.
// CHECK-LABEL: coll.program @done
// CHECK:         coll.put chunk 0 from input[0] to output[0] step = 0
coll.program @done of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
  coll.rank 2 scratch = 0 {
  }
}
