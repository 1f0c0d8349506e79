// RUN: sccl-opt %s -mlir-print-op-on-diagnostic=false -coll-choose-transport="transport=auto steps bytes=2000000 explain" 2>&1 | FileCheck %s --check-prefix=ENGINES
// RUN: sccl-opt %s -mlir-print-op-on-diagnostic=false -coll-choose-transport="transport=auto bytes=1000 explain" 2>&1 | FileCheck %s --check-prefix=FLAGS
// RUN: sccl-opt %s -mlir-print-op-on-diagnostic=false -coll-choose-transport="transport=auto bytes=2000000 explain" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: sccl-opt %s -sccl-lower="transport=auto ll" -o /dev/null
// RUN: sccl-opt %s -sccl-lower="transport=auto" -o /dev/null

// Each link has a choice of its own. An engine is worth its latency on the slow
// link only, whose bytes take ten times as long.
// ENGINES: remark: links 0 -> 1, 1 -> 2 (2 sends): push, estimated for 2000000 bytes: push 8.7 us, pull 9.3 us, dma 9.8 us
// ENGINES: remark: link 2 -> 3 (1 send): dma, estimated for 2000000 bytes: push 80.7 us, pull 86.7 us, dma 77.7 us
// ENGINES: coll.send 0 over 0 -> 1 by push
// ENGINES: coll.send 0 over 2 -> 3 by dma

// With flags a push in the first step waits until the receiver is ready, a pull
// only for the sender's beginning. In between both wait for one flag; in the last
// step somebody waits until a pull is over. For many bytes the bandwidth counts.
// FLAGS: remark: link 1 -> 2 (1 send): push, estimated for 1000 bytes: push 0.7 us, pull 0.7 us
// FLAGS: remark: link 2 -> 3 (1 send): push, estimated for 1000 bytes: push 0.7 us, pull 1.4 us
// FLAGS: remark: link 0 -> 1 (1 send): pull, estimated for 1000 bytes: push 1.4 us, pull 0.7 us
// FLAGS: coll.send 0 over 0 -> 1 by pull
// FLAGS: coll.send 0 over 2 -> 3 by push
// LARGE: remark: link 1 -> 2 (1 send): push, estimated for 2000000 bytes: push 8.7 us, pull 9.3 us
// LARGE: remark: link 0 -> 1 (1 send): pull, estimated for 2000000 bytes: push 9.4 us, pull 9.3 us
coll.topology @line4 ranks = 4 {
  coll.link 0 -> 1 bandwidth = 10
  coll.link 1 -> 0 bandwidth = 10
  coll.link 1 -> 2 bandwidth = 10
  coll.link 2 -> 1 bandwidth = 10
  coll.link 2 -> 3 bandwidth = 1
  coll.link 3 -> 2 bandwidth = 1
}
coll.schedule @bc of broadcast on @line4 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
  coll.step rounds = 1 {
    coll.send 0 over 2 -> 3
  }
}
