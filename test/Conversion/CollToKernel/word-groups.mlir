// RUN: sccl-opt %s -convert-coll-to-kernel | FileCheck %s

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}

// A transfer of LL words that reads what the one before writes, or that is of
// another step, is for all blocks, as is what moves no LL words.
// CHECK-LABEL: rank = 0 {
// CHECK:         collk.channel 0 {
// CHECK:         %[[PART:.*]] = collk.part
// CHECK-NOT:     collk.share
// CHECK-COUNT-4: collk.copy {{.*}} by %[[PART]] in
// CHECK-NOT:     collk.share
// CHECK:         collk.channel 1 {

// Others of one step have shares for what they read, here two thirds and one:
// 170 of 256, and the rest.
// CHECK-LABEL: rank = 1 {
// CHECK:         collk.channel 1 {
// CHECK:         %[[PART:.*]] = collk.part
// CHECK:         collk.copy {{.*}} by %[[PART]] in
// CHECK:         %[[FIRST:.*]] = arith.constant 22016 : i32
// CHECK:         %[[TWO:.*]] = collk.share %[[FIRST]] of %[[PART]]
// CHECK:         collk.copy {{.*}} by %[[TWO]] in
// CHECK:         %[[REST:.*]] = arith.constant 170 : i32
// CHECK:         %[[ONE:.*]] = collk.share %[[REST]] of %[[PART]]
// CHECK:         collk.copy {{.*}} by %[[ONE]] in
// CHECK-NOT:     collk.share
coll.program @ag of all_gather on @pair chunks = 3 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      coll.copy chunk 0 count = 3 from input[0] to output[0] step = 0
      coll.copy chunk 3 from scratch[0] to scratch[3] step = 0
      coll.copy chunk 3 from scratch[3] to output[3] step = 0
      coll.copy chunk 4 count = 2 from scratch[1] to output[4] step = 1
    }
    coll.channel to 1 {
      coll.put chunk 0 count = 3 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 0 {
      coll.put chunk 3 count = 3 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      coll.copy chunk 3 count = 3 from input[0] to output[3] step = 0
      coll.copy chunk 0 count = 2 from scratch[0] to output[0] step = 0
      coll.copy chunk 2 from scratch[2] to output[2] step = 0
    }
  }
}
