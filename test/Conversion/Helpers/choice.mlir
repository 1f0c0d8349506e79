// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="elements=f32,i32,u32 reductions=sum,avg" | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="target=rocdl elements=f32,i32,u32 reductions=sum,avg" | FileCheck %s --check-prefixes=CHECK,WAVE
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host="elements=f32,i32,u32 reductions=sum,avg" | FileCheck %s --check-prefix=HOST
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="elements=i32 reductions=max element=f64 reduction=prod" | FileCheck %s --check-prefix=SINGLE
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="elements=f32,i32 reduction=sum" | FileCheck %s --check-prefix=SUMS

// Several reductions: the number of one of them goes from the function's last
// argument to the helper that chooses a loop. Sums of integers, and averages
// before they are divided, are one loop, and so are those of signed and unsigned
// ones. Averages of floats weigh their operands.

// CHECK-LABEL: llvm.func internal @coll_reduce(
// CHECK-SAME:    %[[WORD:[a-z0-9]+]]: i32, %[[NUMBER:[a-z0-9]+]]: i32) attributes
// CHECK:         llvm.call @coll_choose_average({{.*}}, %[[WORD]], %[[NUMBER]])
// CHECK:         llvm.call @coll_choose_elements({{.*}}, %[[WORD]], %[[NUMBER]])
// CHECK:       llvm.func internal @coll_reduce_elements__f32_sum(
// CHECK:       llvm.func internal @coll_reduce_elements__f32_avg(
// CHECK:       llvm.func internal @coll_average__f32_avg(
// CHECK:       llvm.func internal @coll_reduce_elements__u32_sum(
// CHECK:       llvm.func internal @coll_average__i32_avg(
// CHECK-NOT:   llvm.func {{.*}}@coll_reduce_elements
// CHECK:       llvm.func internal @coll_average__u32_avg(
// CHECK-LABEL: llvm.func internal @coll_choose_elements(
// CHECK-SAME:    %[[WORD:[a-z0-9]+]]: i32, %[[NUMBER:[a-z0-9]+]]: i32) attributes {{.*}}["no-jump-tables", "true"]
// GPU:           %[[INDEX:.*]] = arith.index_castui %[[NUMBER]]
// WAVE:          %[[SAME:.*]] = rocdl.readfirstlane %[[NUMBER]]
// WAVE-NEXT:     %[[INDEX:.*]] = arith.index_castui %[[SAME]]
// CHECK:         scf.index_switch %[[INDEX]]
// CHECK-NEXT:    case 56 {
// CHECK-NEXT:      llvm.call @coll_reduce_elements__f32_sum(
// CHECK:         case 60 {
// CHECK-NEXT:      llvm.call @coll_reduce_elements__f32_avg({{.*}}, %[[WORD]])
// CHECK:         case 16 {
// CHECK-NEXT:      llvm.call @coll_reduce_elements__u32_sum(
// CHECK:         default {
// CHECK-NEXT:      llvm.call @coll_reduce_elements__u32_sum(
// CHECK-LABEL: llvm.func internal @coll_choose_average(
// CHECK:         case 60 {
// CHECK-NEXT:      llvm.call @coll_average__f32_avg(
// CHECK:         default {
// CHECK-NEXT:      llvm.call @coll_choose_elements(
// CHECK-LABEL: gpu.func @sum_rank0(
// CHECK-SAME:    %[[CHOICE:[a-z0-9]+]]: i64, %{{[a-z0-9]+}}: i64) kernel
// CHECK:         %[[NUMBER:.*]] = arith.trunci %[[CHOICE]] : i64 to i32
// CHECK:         llvm.call @coll_reduce({{.*}}, %[[NUMBER]])

// HOST:        llvm.func @sum_rank0({{.*}}, %[[CHOICE:[a-z0-9]+]]: i64, %{{[a-z0-9]+}}: i64)
// HOST:          %[[NUMBER:.*]] = arith.trunci %[[CHOICE]] : i64 to i32
// HOST:          llvm.call @coll_reduce({{.*}}, %[[NUMBER]])
// HOST-LABEL:  llvm.func internal @coll_reduce(
// HOST:          llvm.call @coll_choose_average(
// HOST:          llvm.call @coll_reduce_elements_stream(
// HOST:          llvm.call @coll_choose_elements(
// HOST-LABEL:  llvm.func internal @coll_reduce_elements_stream(
// HOST-SAME:     %[[NUMBER:[a-z0-9]+]]: i32)
// HOST:          llvm.call @coll_choose_elements({{.*}}, %[[NUMBER]])

// A single one needs no choice.

// SINGLE-NOT:  coll_choose
// SINGLE:      llvm.func internal @coll_reduce_elements(
// SINGLE:        arith.maxsi {{.*}} : vector<4xi32>
// SINGLE-NOT:  coll_choose

// SUMS:        llvm.func internal @coll_reduce_elements__f32_sum(
// SUMS:        llvm.func internal @coll_reduce_elements__u32_sum(
// SUMS-NOT:    average
coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 bandwidth = 1
}
coll.program @sum of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}
