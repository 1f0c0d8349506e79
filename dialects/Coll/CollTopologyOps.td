//===- CollTopologyOps.td - Problem level ------------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What machine, what collective, and the question put to the solver.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_TOPOLOGY_OPS
#define COLL_TOPOLOGY_OPS

include "Coll/CollEnums.td"
include "Coll/CollInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

/// A collective is named by its keyword, or by the symbol of a coll.collective.
def Coll_CollectiveRef : Attr<
    CPred<"::llvm::isa<::mlir::StringAttr, ::mlir::FlatSymbolRefAttr>($_self)">,
    "name of a collective, or symbol of a coll.collective or coll.grouped"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

def Coll_TopologyOp : Coll_Op<"topology", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Declare the ranks and links of a machine";
  let description = [{
    Declares `ranks` ranks and, in its body, directed links between them and
    limits on their bandwidth: the pair (P, B) of the SCCL paper, section 3.1.

    **Constraints**
    - (topology_c1) `ranks` is between 1 and 65536;
    - (topology_c2) the body holds only `coll.link`, `coll.limit`,
      `coll.switch` and at most one `coll.timing`;
    - (topology_c3) every link joins two different ranks of the topology;
    - (topology_c4) no link is declared twice;
    - (topology_c5) a limit names links declared before it, none of them twice;
    - (topology_c6) a link has a `bandwidth` or a limit, or is `unlimited`.

    ```mlir
    coll.topology @line3 ranks = 3 {
      coll.link 0 -> 1 bandwidth = 2
      coll.link 1 -> 2
      coll.limit [1 -> 2] bandwidth = 1
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I32Attr:$ranks);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name `ranks` `=` $ranks attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Coll_LinkOp : Coll_Op<"link", [HasParent<"TopologyOp">]> {
  let summary = "Declare a directed link between two ranks";
  let description = [{
    Declares the link `src -> dst`. It carries `bandwidth` chunks per round, or
    what the limits that name it allow, or any if `unlimited` (generic: 0).

    **Constraints**
    - (link_c1) `bandwidth` is between 1 and 1048576;
    - (link_c2) no limit names an `unlimited` link.

    ```mlir
    coll.topology @pair ranks = 2 {
      coll.link 0 -> 1 bandwidth = 2
    }
    ```
  }];
  let arguments = (ins I32Attr:$src, I32Attr:$dst,
                       OptionalAttr<I32Attr>:$bandwidth);
  let assemblyFormat = [{
    $src `->` $dst (custom<LinkBandwidth>($bandwidth)^)? attr-dict
  }];
}

def Coll_LimitOp : Coll_Op<"limit", [HasParent<"TopologyOp">]> {
  let summary = "Bound the bandwidth of a set of links together";
  let description = [{
    In one round the named links carry together at most `bandwidth` chunks: a
    shared bus, or what one rank can send into a switch.

    **Constraints**
    - (limit_c1) at least one link is named;
    - (limit_c2) `bandwidth` is between 1 and 1048576;
    - (limit_c3) no other limit, nor the `bandwidth` of a link, limits the same
      links to another bandwidth.

    ```mlir
    coll.topology @bus ranks = 3 {
      coll.link 0 -> 1
      coll.link 0 -> 2
      coll.limit [0 -> 1, 0 -> 2] bandwidth = 1
    }
    ```
  }];
  let arguments = (ins DenseI32ArrayAttr:$srcs, DenseI32ArrayAttr:$dsts,
                       I32Attr:$bandwidth);
  let assemblyFormat = [{
    custom<LinkList>($srcs, $dsts) `bandwidth` `=` $bandwidth attr-dict
  }];
}

def Coll_SwitchOp : Coll_Op<"switch", [HasParent<"TopologyOp">]> {
  let summary = "Declare a switch that copies or reduces";
  let description = [{
    All links between the named ranks pass a switch that can send one copy to
    many (`multicast`) or reduce what it gets (`reduces`). Sends `by multicast`
    of the same chunk from one rank in one step count once in each limit that
    contains all links from that rank to the others of the switch, such as the
    rank's port, and each for itself in all other limits. What is reduced
    `by load_reduce` into one rank counts once in each limit that contains all
    links to that rank. With `own_copies` a multicast comes back to the rank that
    sends it, and counts once in the latter limits of that rank as well; and
    what is reduced takes the part of the rank that gets it, once in the former.

    **Constraints**
    - (switch_c1) it joins at least three ranks, and multicasts or reduces;
    - (switch_c2) each of its ranks has a link to each other, declared before
      it;
    - (switch_c3) no other switch joins the same ranks.

    ```mlir
    coll.topology @star ranks = 3 {
      coll.link 0 -> 1
      coll.link 0 -> 2
      coll.link 1 -> 0 bandwidth = 1
      coll.link 1 -> 2 bandwidth = 1
      coll.link 2 -> 0 bandwidth = 1
      coll.link 2 -> 1 bandwidth = 1
      coll.limit [0 -> 1, 0 -> 2] bandwidth = 1
      coll.switch [0, 1, 2] multicast
    }
    ```
  }];
  let arguments = (ins DenseI32ArrayAttr:$ranks, UnitAttr:$multicast,
                       UnitAttr:$reduces, UnitAttr:$own_copies);
  let assemblyFormat = [{
    $ranks (`multicast` $multicast^)? (`reduces` $reduces^)?
    (`own_copies` $own_copies^)? attr-dict
  }];
}

def Coll_TimingOp : Coll_Op<"timing", [HasParent<"TopologyOp">]> {
  let summary = "Say how fast the parts of the machine are";
  let description = [{
    The clock by which `sccl plan` chose, and by which programs on this topology
    are simulated: the `latencies` of links in microseconds, and the `rates` of
    limits in GB/s. Links count in the order of their ops. Limits count in the
    order of ops too, the `bandwidth` of a link where the link is. One number
    stands for all.

    `copies` is the rate of a rank within its memory in GB/s; without it copies
    take no time. A transfer takes `start` microseconds from its turn to its
    first byte, and a barrier `barrier` microseconds. `blocks` says what one
    thread block loads, sends over a link or gets, and handles of LL words, in
    GB/s, and how many microseconds a load takes; `flags` how many microseconds a
    signal takes before the flag leaves, and a wait after it has come; `launch`
    those before a program begins. What is not there takes no time, and has no
    limit.

    **Constraints**
    - (timing_c1) there are as many `latencies` as links and as many `rates` as
      limits, or one of them;
    - (timing_c2) rates are above 0, and times not negative;
    - (timing_c3) `blocks` has four numbers, and `flags` two.

    ```mlir
    coll.topology @pair ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 0 bandwidth = 2
      coll.timing latencies = [4.0e-01] rates = [2.5e+01, 5.0e+01] copies = 1.0e+03
    }
    ```
  }];
  let arguments = (ins DenseF64ArrayAttr:$latencies, DenseF64ArrayAttr:$rates,
                       OptionalAttr<F64Attr>:$copies,
                       OptionalAttr<F64Attr>:$start,
                       OptionalAttr<F64Attr>:$barrier,
                       OptionalAttr<DenseF64ArrayAttr>:$blocks,
                       OptionalAttr<DenseF64ArrayAttr>:$flags,
                       OptionalAttr<F64Attr>:$launch);
  let assemblyFormat = [{
    `latencies` `=` $latencies `rates` `=` $rates (`copies` `=` $copies^)?
    (`start` `=` $start^)? (`barrier` `=` $barrier^)? (`blocks` `=` $blocks^)?
    (`flags` `=` $flags^)? (`launch` `=` $launch^)? attr-dict
  }];
}

def Coll_CollectiveOp : Coll_Op<"collective", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Define a collective by its pre- and postcondition";
  let description = [{
    Defines a collective that has no keyword: `distinct` chunks in all, where
    each lies before (`coll.pre`) and where it must lie after (`coll.post`).
    `chunks` is the C of the cost (R/C)·L·β. With `combining`, every rank whose
    `coll.pre` names a chunk contributes to it, and the postcondition asks for
    the combination of all contributions.

    ```
    @rotate, 3 ranks       before         after
    rank 0                 0              2
    rank 1                 1              0
    rank 2                 2              1
    ```

    **Constraints**
    - (collective_c1) the body holds only `coll.pre` and `coll.post`;
    - (collective_c2) ranks and chunks are in range;
    - (collective_c3) every chunk of a postcondition is in some precondition;
    - (collective_c4) a rank has all chunks of a segment or none.

    With `segment = n`, each n chunks are a segment, which lies in one piece in
    the buffers; without it, each chunk is one.

    ```mlir
    coll.collective @rotate ranks = 3 chunks = 1 distinct = 3 {
      coll.pre 0 has [0]
      coll.pre 1 has [1]
      coll.pre 2 has [2]
      coll.post 0 has [2]
      coll.post 1 has [0]
      coll.post 2 has [1]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I32Attr:$ranks,
                       I32Attr:$chunks, I32Attr:$distinct,
                       OptionalAttr<I32Attr>:$segment, UnitAttr:$combining);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name `ranks` `=` $ranks `chunks` `=` $chunks `distinct` `=` $distinct
    (`segment` `=` $segment^)? (`combining` $combining^)?
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Coll_GroupedOp : Coll_Op<"grouped", [Symbol]> {
  let summary = "Define a collective among some of the ranks, or in groups";
  let description = [{
    Defines a collective in which each of `groups` does the named one, at the
    same time as the others and over the same links. A group lists its ranks in
    the order in which the collective numbers them; `root`, of broadcast,
    gather, reduce and scatter, counts within each group. Ranks of no group have
    empty buffers, but may pass chunks on. `chunks` is C, the same in all
    groups. Chunks are numbered group by group.

    ```
    2 boxes, a group of one rank of each box:

      box 0        box 1
    +-------+    +-------+
    |  0  1 |----|  2  3 |     [0, 2] [1, 3]
    +-------+    +-------+
    ```

    **Constraints**
    - (grouped_c1) each group has at least one rank, below `ranks`, and no rank
      is in two groups or twice in one;
    - (grouped_c2) the collective exists for the ranks of each group, these
      chunks and this root.

    ```mlir
    coll.grouped @one_of_each_box of all_gather ranks = 4 chunks = 1
      groups = [[0, 2], [1, 3]]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$collective,
                       I32Attr:$ranks, I32Attr:$chunks,
                       OptionalAttr<I32Attr>:$root, ArrayAttr:$groups);
  let assemblyFormat = [{
    $sym_name `of` custom<KindName>($collective) `ranks` `=` $ranks
    `chunks` `=` $chunks (`root` `=` $root^)? `groups` `=` $groups attr-dict
  }];
  let hasVerifier = 1;
}

class Coll_ConditionOp<string mnemonic, string when>
    : Coll_Op<mnemonic, [HasParent<"CollectiveOp">]> {
  let summary = "List the chunks of a rank " # when # " the collective";
  let arguments = (ins I32Attr:$rank, DenseI32ArrayAttr:$chunks);
  let assemblyFormat = "$rank `has` $chunks attr-dict";
}
def Coll_PreOp : Coll_ConditionOp<"pre", "before"> {
  let description = "See `coll.collective`.";
}
def Coll_PostOp : Coll_ConditionOp<"post", "after"> {
  let description = "See `coll.collective`.";
}

def Coll_SynthesizeOp : Coll_Op<"synthesize", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Ask for a schedule with given chunks, steps and rounds";
  let description = [{
    Asks for a schedule of the collective on the topology with `chunks` chunks
    per send buffer (C), `steps` steps (S) and `rounds` rounds in all (R). The
    pass `coll-synthesize-schedule` replaces the op by a `coll.schedule` of the
    same name. `root` is the root rank of broadcast, gather, reduce and scatter.
    With a tree as `sum_order`, the schedule adds up by it, and has a way that
    says so.

    **Constraints**
    - (synthesize_c1) the topology and the collective exist;
    - (synthesize_c2) the collective exists for these ranks, chunks and root;
    - (synthesize_c3) `rounds` is at least `steps`, and every chunk has a path
      to each rank that must get it;
    - (synthesize_c4) `sum_order` is an order of summation, with a tree for the
      ranks that contribute.

    ```mlir
    coll.topology @pair ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 0 bandwidth = 1
    }
    coll.synthesize @ag of all_gather on @pair chunks = 1 steps = 1 rounds = 1
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Coll_CollectiveRef:$collective,
                       FlatSymbolRefAttr:$topology, I32Attr:$chunks,
                       OptionalAttr<I32Attr>:$root, I32Attr:$steps,
                       I32Attr:$rounds, OptionalAttr<StrAttr>:$sum_order);
  let assemblyFormat = [{
    $sym_name `of` custom<CollectiveRef>($collective) `on` $topology
    `chunks` `=` $chunks (`root` `=` $root^)? `steps` `=` $steps
    `rounds` `=` $rounds (`sum_order` `=` $sum_order^)? attr-dict
  }];
}

#endif // COLL_TOPOLOGY_OPS
