// RUN: sccl-opt %s -split-input-file -sccl-lower="element=bf16 wire=f32" | FileCheck %s --check-prefix=BF16
// RUN: sccl-opt %s -split-input-file -sccl-lower="element=f8e5m2 wire=f32" | FileCheck %s --check-prefix=F8
// RUN: sccl-opt %s -split-input-file -sccl-lower="element=f32 wire=f32" | FileCheck %s --check-prefix=F32 --implicit-check-not=wide
// RUN: sccl-opt %s -split-input-file -sccl-lower="element=bf16 reduction=max wire=f32" | FileCheck %s --check-prefix=F32 --implicit-check-not=wide
// RUN: not sccl-opt %s -o /dev/null -split-input-file -sccl-lower="element=bf16 wire=f32 ll" 2>&1 | FileCheck %s --check-prefix=LL --implicit-check-not=error:
// RUN: not sccl-opt %s -o /dev/null -split-input-file -sccl-lower="element=bf16 wire=f32 order=tree" 2>&1 | FileCheck %s --check-prefix=TREE --implicit-check-not=error:
// RUN: not sccl-opt %s -o /dev/null -split-input-file -sccl-lower="element=bf16 wire=f17" 2>&1 | FileCheck %s --check-prefix=WORD

// WORD: unknown wire 'f17', expected element or f32

// Rank 1 sends on a sum of two, which stays f32 until rank 2 adds it: the input
// that arrives at rank 1 is in a slot beside. What lands at rank 2 is wide.
// BF16: coll.program @partial of reduce on @line chunks = 1 root = 2 blocks = 1 sum_width = 2
// F8: coll.program @partial of reduce on @line chunks = 1 root = 2 blocks = 1 sum_width = 4
// F32: coll.program @partial of reduce on @line chunks = 1 root = 2 blocks = 1 {
// BF16: coll.rank 1 scratch = 1 {
// BF16: coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 1
// BF16: coll.rank 2 scratch = 1 wide = 1 {
// BF16: coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
// LL: error: 'coll.program' op rounds chunk 0 2 times: rank 2 ends with (2 (0 1)) (T3)
// TREE: error: 'coll.program' op has partial sums in f32, which have other bits than those of tree that are rounded (T2)
coll.topology @line ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
coll.schedule @partial of reduce on @line chunks = 1 root = 2 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 2
  }
}

// -----

// Inputs travel as they are.
// BF16: coll.program @owner
// BF16: coll.rank 2 scratch = 2 {
// TREE: error: 'coll.program' op has partial sums in f32, which have other bits than those of tree that are rounded (T2)
coll.topology @star ranks = 3 {
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 2 unlimited
}
coll.schedule @owner of reduce on @star chunks = 1 root = 2 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 2
  }
}
