// RUN: not sccl-opt %s -sccl-lower 2>&1 | FileCheck %s
// RUN: not sccl-opt %s -sccl-to-nvvm 2>&1 | FileCheck %s
// RUN: not sccl-opt %s -sccl-to-rocdl 2>&1 | FileCheck %s
// RUN: not sccl-opt %s -sccl-to-host 2>&1 | FileCheck %s

// Every pipeline checks the schedule before it lowers it.
// CHECK: pipelines-invalid.mlir:[[# @LINE + 6]]:3: error: rank 2 lacks chunk 0 after step 0
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
coll.schedule @bc of broadcast on @line3 chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
