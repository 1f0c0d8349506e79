//===- CollMachineOps.td - What people own -----------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Above the problem level: hardware in GB/s, of which coll-derive-topology makes
// what solvers take. Generated apart from the other ops, which few users of need
// the library of machines.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_MACHINE_OPS
#define COLL_MACHINE_OPS

include "Coll/CollDialect.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"

def Coll_MachinePart : I32EnumAttr<"MachinePart", "part of a machine", [
    I32EnumAttrCase<"Gpu", 0, "gpu">, I32EnumAttrCase<"Switch", 1, "switch">,
    I32EnumAttrCase<"Nic", 2, "nic">, I32EnumAttrCase<"Bridge", 3, "bridge">,
    I32EnumAttrCase<"Memory", 4, "memory">]> {
  let cppNamespace = "::sccl::coll";
}

def Coll_MachineOp : Coll_Op<"machine", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Declare the parts of a machine and what joins them";
  let description = [{
    GPUs, switches, NICs, host bridges and memories, in boxes, and edges with
    GB/s. The pass `coll-derive-topology` makes a `coll.topology` of it, in which
    rank i is the i-th GPU. `notes` are what whoever wrote the machine assumed or doubted.

    ```
      gpu0 ==450== switch0 ==450== gpu1         box 0
       |                            |
       50                           50          GB/s, both ways
       |                            |
      nic0 ------- rail0, rail1 -- nic1 ---- to other boxes
    ```

    **Constraints**
    - (machine_c1) the body holds only `coll.vertex` and `coll.edge`;
    - (machine_c2) no name is there twice, no bus id twice in a box;
    - (machine_c3) an edge joins two different vertices declared before it;
    - (machine_c4) two vertices have at most one edge in each direction.

    ```mlir
    coll.machine @pair {
      coll.vertex gpu "gpu0" box = 0 bus_id = "0000:1b:00.0" chip = "sm_90"
      coll.vertex gpu "gpu1" box = 0
      coll.vertex switch "switch0" box = 0 multicast reduces
      coll.edge "gpu0" -> "switch0" both_ways bandwidth = "450" from "data sheet" kind = "NVLink4" lanes = 18
      coll.edge "gpu1" -> "switch0" bandwidth = "425" from "nvlink -s" latency = "0.7" from "measured" kind = "NVLink4" lanes = 17
      coll.edge "switch0" -> "gpu1" bandwidth = "425" from "nvlink -s" kind = "NVLink4" lanes = 17
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<StrArrayAttr>:$notes);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Coll_VertexOp : Coll_Op<"vertex", [HasParent<"MachineOp">]> {
  let summary = "Declare a GPU, a switch, a NIC, a host bridge or a memory";
  let description = [{
    A part of a machine, in a box or, for switches, between boxes. A switch may
    `multicast` what it gets, and may be one that `reduces`. A memory, that of a
    host, stores what passes. `chip` is as tools name it: sm_90, gfx942, mlx5_0.

    **Constraints**
    - (vertex_c1) the name is not empty;
    - (vertex_c2) what is no switch is in a box, and neither multicasts nor
      reduces;
    - (vertex_c3) `box` is between 0 and 16383.

    ```mlir
    coll.machine @core {
      coll.vertex switch "core"
      coll.vertex nic "nic0" box = 0 chip = "mlx5_0"
    }
    ```
  }];
  let arguments = (ins Coll_MachinePart:$part, StrAttr:$name,
                       OptionalAttr<I32Attr>:$box,
                       OptionalAttr<StrAttr>:$bus_id,
                       OptionalAttr<StrAttr>:$chip, UnitAttr:$multicast,
                       UnitAttr:$reduces);
  let assemblyFormat = [{
    $part $name (`box` `=` $box^)? (`bus_id` `=` $bus_id^)?
    (`chip` `=` $chip^)? (`multicast` $multicast^)? (`reduces` $reduces^)?
    attr-dict
  }];
}

def Coll_EdgeOp : Coll_Op<"edge", [HasParent<"MachineOp">]> {
  let summary = "Declare cables between two vertices";
  let description = [{
    Joins `src` to `dst`, and with `both_ways` back with the same numbers.
    `bandwidth` is GB/s (10^9 bytes) of all `lanes` together, `latency`
    microseconds; both are exact decimals or fractions, and say where they come
    `from`. `kind` is NVLink4, xGMI3, PCIe5, IB, ...: routes take what begins
    with PCIe, and `host`, only where nothing else connects.

    **Constraints**
    - (edge_c1) `bandwidth` is a number above 0, `latency` one of at least 0, both
      at most 10^9;
    - (edge_c2) there is at least one lane.

    ```mlir
    coll.machine @cable {
      coll.vertex gpu "a" box = 0
      coll.vertex gpu "b" box = 0
      coll.edge "a" -> "b" both_ways bandwidth = "26.562" from "nvlink -s" kind = "NVLink4"
    }
    ```
  }];
  let arguments = (ins StrAttr:$src, StrAttr:$dst, UnitAttr:$both_ways,
                       StrAttr:$bandwidth, StrAttr:$bandwidth_source,
                       OptionalAttr<StrAttr>:$latency,
                       OptionalAttr<StrAttr>:$latency_source, StrAttr:$kind,
                       DefaultValuedAttr<I32Attr, "1">:$lanes);
  let assemblyFormat = [{
    $src `->` $dst (`both_ways` $both_ways^)? `bandwidth` `=` $bandwidth
    `from` $bandwidth_source (`latency` `=` $latency^ `from` $latency_source)?
    `kind` `=` $kind (`lanes` `=` $lanes^)? attr-dict
  }];
}

#endif // COLL_MACHINE_OPS
