// RUN: sccl-opt %s --convert-kernel-to-gpu | FileCheck %s
// RUN: sccl-opt %s --convert-kernel-to-gpu='target=rocdl virtual-ranks' | FileCheck %s --check-prefixes=CHECK,VIRTUAL
// RUN: sccl-opt %s --convert-kernel-to-gpu='embed-tables' | FileCheck %s --check-prefix=TABLES

// The first thread of the first block of a channel says where it has come to, if
// the rank has a table, and somebody records.
// CHECK:      llvm.func hidden @coll_record
// CHECK:      llvm.func hidden @coll_mark(%[[TABLE:.*]]: !llvm.ptr<1>, %[[LINE:.*]]: i32, %[[PLACE:.*]]: i32, %[[BLOCK:.*]]: i32)
// CHECK:      %[[THREAD:.*]] = arith.index_cast
// CHECK:      %[[NUMBER:.*]] = arith.ori %[[THREAD]], %[[BLOCK]]
// CHECK:      arith.cmpi eq, %[[NUMBER]]
// CHECK:      llvm.ptrtoint %[[TABLE]]
// CHECK:      scf.if
// CHECK:      %[[RECORD:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK:      scf.if
// CHECK:      %[[TIME:.*]] = llvm.call_intrinsic "llvm.readsteadycounter"() : () -> i64
// CHECK:      llvm.store %[[TIME]]

// The first mark of a channel begins its record. Line 1 is at byte 16 + 48.
// CHECK-LABEL: gpu.func @p_rank0
// CHECK:      %[[LAUNCH:.*]] = llvm.call @coll_begin
// CHECK:      %[[AT:c64_i32]] = arith.constant 64 : i32
// CHECK:      llvm.call @coll_record(%arg8, %[[AT]], %[[LAUNCH]], %arg6, %[[PART:[0-9]+]])
// CHECK:      llvm.call @coll_mark(%arg8, %[[AT]], %c0{{[^,]*}}, %[[PART]])
// CHECK-NEXT: %{{.*}} = llvm.mlir.addressof @p_flags
// CHECK:      llvm.call @coll_wait
// CHECK:      llvm.call @coll_mark(%arg8, %{{.*}}, %c1{{[^,]*}}, %[[PART]])
// CHECK-NOT:  llvm.call @coll_record
// CHECK:      llvm.call @coll_end
// CHECK-NEXT: %{{.*}} = arith.constant
// CHECK:      llvm.call @coll_mark(%arg8, %{{.*}}, %c2{{[^,]*}}, %[[PART]])

// VIRTUAL-LABEL: gpu.func @p_virtual
// VIRTUAL: %[[ENTRY:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr<1>, i64)
// VIRTUAL: llvm.call @coll_record

// A header, two lines, of which the second has marks 0 to 2, and the marks: kind, channel,
// peer, pull; position, count, times, chunks of a segment; and the flag.
// TABLES:      llvm.mlir.global external @p_table_rank0(dense<[828600948, 2, 3, 0,
// TABLES-SAME: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// TABLES-SAME: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3,
// TABLES-SAME: 0, 1, -1, 0, 0, 0, 0, 4, 1, 128, 2, 1,
// TABLES-SAME: 1, 1, 5, 1, 2, 1, 1, 4, 0, 0, 0, 0,
// TABLES-SAME: 5, 1, -1, 0, 0, 0, 0, 4, 0, 0, 0, 0]>
collk.program @p ranks = 1 chunks = 4 blocks = 2 slots = 3 {
  collk.kernel @p_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
    }
    collk.channel 1 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c4 = arith.constant 4 : i32
      %c128 = arith.constant 128 : i32
      %part = collk.part %block of %c2 chunks %c4
      %launch = collk.begin %c0 of %c1 by %part
      %flag = collk.flag %c1[%c128] per_launch %c2 value %c1
      collk.mark wait channel 1 flag %flag in %launch line 1 place 0 by %part
      collk.wait %flag by %part in %launch : !collk.flag
      collk.mark transfer channel 1 peer 5 pull chunks 1 at 2 times 1 in %launch line 1 place 1 by %part
      collk.end %launch at %c0 by %part
      collk.mark end channel 1 in %launch line 1 place 2 by %part
    }
  }
}
