// RUN: sccl-opt %s -convert-coll-to-kernel=host | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel | FileCheck %s --check-prefix=BLOCKS
// RUN: sccl-opt %s -convert-coll-to-kernel='host traced' | FileCheck %s --check-prefix=TRACED
// RUN: sccl-opt %s -convert-coll-to-kernel=traced | FileCheck %s --check-prefix=PLACES
// RUN: sccl-opt %s -convert-coll-to-kernel=traced | grep -v collk.mark > %t.traced
// RUN: sccl-opt %s -convert-coll-to-kernel | diff - %t.traced

// On a host one thread executes all channels of a rank, so what one channel has
// waited for, no other waits for. Blocks of a GPU do not know of each other.

// CHECK-LABEL: collk.kernel @fan_rank0
// CHECK-COUNT-1: collk.wait
// CHECK-NOT:     collk.wait
// CHECK-LABEL: collk.kernel @fan_rank1

// BLOCKS-LABEL: collk.kernel @fan_rank0
// BLOCKS-COUNT-2: collk.wait
// BLOCKS-LABEL: collk.kernel @fan_rank1

// Marks say what comes next and for which channel. Those of thread blocks say where the
// time is written: a line for each channel, and a place for each mark. Nothing else is
// different.
// TRACED-LABEL: collk.kernel @fan_rank0
// TRACED:      %[[FLAG:.*]] = collk.flag
// TRACED-NEXT: collk.mark wait channel 0 flag %[[FLAG]] in %{{.*}}
// TRACED-NEXT: collk.wait %[[FLAG]]
// TRACED:      collk.mark transfer channel 0 peer 2 chunks 1 at 0 times 1 in
// TRACED:      collk.copy
// TRACED:      collk.mark signal channel 0 flag
// TRACED-NEXT: collk.signal
// TRACED:      collk.mark transfer channel 1 peer 3
// TRACED:      collk.end
// TRACED-NEXT: collk.mark end channel 1 in
// TRACED-LABEL: collk.kernel @fan_rank1
// TRACED:      collk.mark copy channel {{[01]}} chunks 1
// PLACES-LABEL: collk.kernel @fan_rank0
// PLACES:      %[[PART:.*]] = collk.part
// PLACES:      %[[FLAG:.*]] = collk.flag
// PLACES-NEXT: collk.mark wait channel 0 flag %[[FLAG]] in %[[LAUNCH:.*]] line 0 place 0 by %[[PART]]
// PLACES-NEXT: collk.wait %[[FLAG]]
// PLACES-NEXT: collk.mark transfer channel 0 peer 2 chunks 1 at 0 times 1 in %[[LAUNCH]] line 0 place 1 by %[[PART]]
// PLACES:      collk.end
// PLACES-NEXT: collk.mark end channel 0 in %[[LAUNCH]] line 0 place 3 by %[[PART]]
// PLACES:      collk.mark wait channel 1 flag {{.*}} line 1 place 0 by
coll.topology @star ranks = 4 {
  coll.link 1 -> 0 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 0 -> 3 bandwidth = 1
}
coll.program @fan of broadcast on @star chunks = 1 root = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 2 {
      coll.wait arrival from 1 value = 1
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 2 value = 1
    }
    coll.channel to 3 {
      coll.wait arrival from 1 value = 1
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 3 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.wait arrival from 0 value = 1
    }
  }
  coll.rank 3 scratch = 0 {
    coll.channel to 3 {
      coll.wait arrival from 0 value = 1
    }
  }
}
