// Between any two passes of a pipeline MLIR's own clean-up passes may run, and change
// nothing in what comes out.

// DEFINE: %{cleanup} = %python %S/Inputs/cleanup.py %s
// RUN: %{cleanup} sccl-lower
// RUN: %{cleanup} "sccl-lower{steps=true}"
// RUN: %{cleanup} "sccl-lower,convert-coll-to-kernel"
// RUN: %{cleanup} "sccl-lower,convert-coll-to-kernel,collk-tabulate{code-shape=table}"
// RUN: %{cleanup} sccl-to-host
// RUN: %{cleanup} sccl-to-mpi
// RUN: %{cleanup} sccl-to-nccl-device
// RUN: %{cleanup} "sccl-to-nvvm{code-shape=table}"
// RUN: %{cleanup} "sccl-to-nvvm{code-shape=unrolled ll=true}"
// RUN: %{cleanup} "sccl-to-rocdl{code-shape=table}"

// A pass that hoists constants finds no place for them above a channel.
// RUN: sccl-opt %s -sccl-lower -convert-coll-to-kernel -canonicalize -sccp | FileCheck %s
// CHECK:      collk.program @sum
// CHECK-NEXT:   collk.kernel
// CHECK-NEXT:     collk.channel 0

coll.topology @ring ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
}
coll.schedule @sum of all_reduce on @ring chunks = 3 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 2 -> 0
    coll.reduce 1 over 0 -> 1
    coll.reduce 1 over 2 -> 1
    coll.reduce 2 over 0 -> 2
    coll.reduce 2 over 1 -> 2
  }
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 0 over 0 -> 2
    coll.send 1 over 1 -> 0
    coll.send 1 over 1 -> 2
    coll.send 2 over 2 -> 0
    coll.send 2 over 2 -> 1
  }
}
