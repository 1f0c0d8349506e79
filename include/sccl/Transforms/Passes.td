//===- Passes.td - Passes on the coll dialect --------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_PASSES
#define SCCL_TRANSFORMS_PASSES

include "sccl/Options/LoweringOptions.td"

def DeriveTopology : Pass<"coll-derive-topology", "::mlir::ModuleOp"> {
  let summary = "Derive a coll.topology of each coll.machine";
  let description = [{
    Puts a `coll.topology` behind each `coll.machine`, with its name and
    `_topology`: a rank for each GPU, a link for each route between two of them,
    and a limit for each edge on the links routed through it. One chunk per round
    is `quantum` GB/s, by default the largest of which all limits are multiples.
    Remarks say which, and what was approximated. The machine stays.

    Routes, limits and the quantum: docs/Machines.md.

    Example: test/Transforms/derive-topology.mlir.
  }];
  let options = [
    Option<"quantum", "quantum", "std::string", "",
           "GB/s of one chunk per round">,
    Option<"tolerance", "tolerance", "std::string", "\"0\"",
           "Relative error that bandwidths may have, for smaller numbers">,
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def SynthesizeSchedule
    : Pass<"coll-synthesize-schedule", "::mlir::ModuleOp"> {
  let summary = "Replace each coll.synthesize by a schedule";
  let description = [{
    Asks a synthesis engine for a schedule with the chunks, steps and rounds of
    each `coll.synthesize`, and puts a `coll.schedule` of the same name in its
    place. Every schedule has passed the independent checker. After this pass no
    `coll.synthesize` remains.

    With `certify` a schedule carries a lower bound on the R/C of all schedules
    with as many steps, with its proof; on large topologies of those with any
    number of steps. If it equals the schedule's own R/C, the schedule is
    optimal. If there is no such bound, the pass fails.

    The pass fails with one of three different messages: the instance is
    *unsatisfiable* (proved), the answer is *unknown* (time or memory ran out),
    or the engine *failed*.

    Example: test/Transforms/synthesize-schedule.mlir.
  }];
  let options = [
    Option<"engine", "engine", "std::string", "\"auto\"",
           "Name of the engine, or auto">,
    Option<"encoding", "encoding", "std::string", "\"direct\"",
           "Encoding for z3, which it chooses: direct or paper">,
    Option<"timeout", "timeout", "double", "0",
           "Seconds for each synthesis; 0 means no limit">,
    Option<"seed", "seed", "unsigned", "0", "Seed of the engine">,
    Option<"certify", "certify", "bool", "false",
           "Attach a certified lower bound on R/C to each schedule">,
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def CheckSchedule : Pass<"coll-check-schedule", "::sccl::coll::ScheduleOp"> {
  let summary = "Check that schedules implement their collectives";
  let description = [{
    Replays each `coll.schedule` from the definitions: every chunk is held where
    it is sent from, no limit on bandwidth is exceeded, nothing is received
    twice, and the postcondition holds at the end, in combining collectives with
    the contribution of each rank exactly once (check A1). Verifies the
    certificate that a schedule carries (check A2). Changes nothing.

    The first violation is reported on the op that causes it, with its step,
    rank, chunk and link. Links no solver.

    Example: test/Transforms/check-schedule.mlir.
  }];
}

def Invert : Pass<"coll-invert", "::mlir::ModuleOp"> {
  let summary = "Turn schedules round: all_gather to reduce_scatter, and back";
  let description = [{
    The inverse of a schedule runs its steps backwards on the reversed topology:
    what was sent from u to v is reduced from v to u. all_gather becomes
    reduce_scatter, broadcast becomes reduce, gather becomes scatter, and the
    converse; all_to_all and user-defined collectives are their own kind again.
    C counts the chunks of a send buffer, so it changes with it.

    With `schedule` only the schedule of that name is inverted; with `result` the
    original stays and the inverse gets that name. If the reversed topology is
    another one, it is added under the name of the original and `_reversed`.

    Fails on a schedule that has no inverse, such as one of all_reduce. The
    schedule must be right: run `coll-check-schedule` first.

    Example: test/Transforms/invert.mlir. Source: the SCCL paper, section 3.5,
    "Combining collectives".
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"\"",
           "Name of the schedule to invert; empty means every one">,
    Option<"result", "result", "std::string", "\"\"",
           "Name of the inverse; empty means that it replaces the original">,
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def CutIntoPieces : Pass<"coll-cut-into-pieces", "::mlir::ModuleOp"> {
  let summary = "Let pieces of chunks follow each other through schedules";
  let description = [{
    Every chunk becomes `pieces` chunks, and piece p is in step s of the original
    in step `piece-distance` * s + p. So all steps of the original are under way at
    once, each for another piece: what takes time is then the load of the fullest
    limit, not the sum of the steps. For large messages. At a distance of 6 the
    latencies of five pieces pass while others are on the links; at 1 all steps
    are under way soonest, which is best where pieces take longer than latencies.

    With `piece-rounds` pieces begin at a distance of the period, and what one
    sends is spread over its rounds, so that no limit is too full in any of them
    (modulo scheduling): a send goes out `piece-distance` rounds after what it
    passes on, or later. That is for few pieces that take long.

    A pipelined schedule (one with a `period`) says what one piece does, and is
    made for this; others may be cut as well. What comes out is a schedule like
    others, step by step, of the same collective with so many times the chunks.
    User-defined collectives are declared anew.

    The schedule must be right: run `coll-check-schedule` first. Fails if there
    would be too many chunks or sends. With 1 piece nothing changes.

    Example: test/Transforms/cut-into-pieces.mlir. Rationale:
    docs/Rationale/Pipelining.md.
  }];
  let options = [
    Lowering_pieces, Lowering_pieceDistance, Lowering_pieceRounds,
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def Compose : Pass<"coll-compose", "::mlir::ModuleOp"> {
  let summary = "Join two schedules into one that does both";
  let description = [{
    Appends the steps of schedule `second` to those of `first` and names what
    comes out `result`; both originals disappear. The postcondition of the first
    must be the precondition of the second, as for a reduce_scatter and an
    all_gather, which make an all_reduce, or a gather and a scatter. Where the
    whole is one of the named collectives it gets that name, else a
    `coll.collective` is added.

    Fails if the conditions do not meet, the topologies differ, or the second
    schedule combines.

    Example: test/Transforms/compose.mlir. Source: the SCCL paper, section 3.5,
    "Combining collectives".
  }];
  let options = [
    Option<"first", "first", "std::string", "\"\"", "Schedule that runs first">,
    Option<"second", "second", "std::string", "\"\"", "Schedule that follows">,
    Option<"result", "result", "std::string", "\"composed\"",
           "Name of the whole">,
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def ChooseTransport : Pass<"coll-choose-transport", "::sccl::coll::ScheduleOp"> {
  let summary = "Choose push, pull or a copy engine for each send";
  let description = [{
    Sets `by` of every `coll.send` and `coll.reduce`, per link, in this order:
      - as `link-transport` says for the link;
      - as `transport` says, if it is push, pull or dma;
      - with `transport=given`, which is the default, as the schedule says, and
        push where it says nothing;
      - with `transport=auto`, by the estimated time of the link's chunks pushed,
        pulled, or copied by engines, for send buffers of `bytes` bytes. The
        model has a latency for each step that uses the link, and the link's
        bandwidth (1 if it has no limit), relative to those of a push: a pull has 0.93 of the bandwidth,
        a copy engine 1.06 but 3.2 of the latency. Ties go to push. Without
        `steps` only push and pull are candidates, and one more latency counts
        for a push in the first step, which waits until the receiver is ready,
        and for a pull in the last one, whose end the sender waits for. With
        `steps` there are no flags to wait for: copy engines set none, so they are
        for programs of a kernel per step.

    With `explain` each choice is printed as a remark, with its reason.

    Example: test/Transforms/choose-transport.mlir. Source of the figures: the
    SCCL paper, section 4 (copy engines about 10 % above kernel copies, push up to
    10 % above pull), and /docs/Rationale/Transport.md.
  }];
  let options = [
    Lowering_transport, Lowering_links, Lowering_bytes, Lowering_alpha,
    Lowering_beta, Lowering_steps, Lowering_inNetwork, Lowering_explain
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def LowerSchedule : Pass<"coll-lower-schedule", "::mlir::ModuleOp"> {
  let summary = "Lower schedules to one fused program per collective";
  let description = [{
    Replaces each `coll.schedule` by a `coll.program` in which every rank has one
    channel per link it uses, and one to itself for local work. A send becomes a
    `coll.put` by the sender, straight into the receiver's output where the chunk
    belongs there, else into scratch; if it is to be pulled, a `coll.get` by the
    receiver. A reduce brings the chunk to scratch, where the receiver's
    `coll.local_reduce` takes it, `final` where it makes the chunk complete. No
    location is written twice in one launch, so only true dependencies remain.
    Neighbouring chunks that one step moves between the same ranks become one
    transfer, and of a collective that does not reduce also those at even
    distances; others may have to be joined with reductions first.

    With `through-scratch` no rank touches a peer's input or output: a put lands
    in scratch, from where the receiver copies to its output, and what a peer
    gets is copied to scratch first. Only scratch must be shared then.

    With `double-buffer` each rank has its scratch twice, and launches take turns.
    Unless all goes through scratch, the program is eager: what is pushed in the
    first step lands in scratch, which needs no handshake before, and all else
    where it belongs.

    With `order` same, ranks that complete one sum add it up in one order, where
    the schedule allows it: what arrives waits until the value is sent on or
    complete, and is added in the order of the least ranks that have contributed
    to each part. If `order` is a tree, all that is combined waits, and parts
    that are nodes of the tree are added up as it has it. With `one-rounding`,
    sums that one rank makes wait, too. See docs/Numerics.md.

    With `ll`, which implies both, scratch holds LL words. A result that is
    sent on is kept in scratch, and chunks that nobody needs are not sent. Fails
    on sends that are not pushed. See docs/Rationale/LL.md.

    After this pass no `coll.schedule` remains. The programs have no signals and
    no waits yet: `coll-insert-flag-sync` or `coll-insert-step-barriers` adds
    them. Schedules are taken to be right; run `coll-check-schedule` first.

    Example: test/Transforms/lower-schedule.mlir. Source: the SCCL paper, section
    4, "Code Generation".
  }];
  let options = [
    Lowering_blocksPerLink, Lowering_throughScratch, Lowering_doubleBuffer,
    Lowering_ll, Lowering_sumOrder, Lowering_oneRounding
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def FuseReductions : Pass<"coll-fuse-reductions", "::sccl::coll::ProgramOp"> {
  let summary = "Combine from and to the peer without a stop in memory";
  let description = [{
    Joins what a program without signals does with a chunk one after the other:
      - `coll.local_reduce`s of one step that go on with each other's results,
        which nobody else reads, become one of several terms: each source is
        read once, the result is written once, and floats of few bits are
        rounded once. That needs terms at one distance in scratch, with about as
        many contributions each: those that an average weighs alike;
      - a `coll.local_reduce` whose result only one `coll.put` reads, and that put,
        become a `coll.reduce_put`: the result goes from registers to the peer;
      - a `coll.get` whose chunk only one `coll.local_reduce` reads, and that reduction,
        become a `coll.get_reduce`: the chunk is reduced as it is read.
    Scratch that nobody uses any more is given back. With `sum-width`, slots for
    partial sums become wide, and come first.

    Expects programs as `coll-lower-schedule` leaves them. The statistics count
    what was joined, for a build of LLVM that has them; `explain` prints the same
    counts with any build, as a remark on each program.

    Example: test/Transforms/fuse-reductions.mlir.
  }];
  let statistics = [
    Statistic<"numPuts", "combine-puts", "combines joined with a put">,
    Statistic<"numGets", "get-combines", "gets joined with a combine">,
    Statistic<"numTerms", "combine-combines", "combines joined with the next one">,
    Statistic<"numSlots", "scratch-slots", "slots of scratch given back">,
  ];
  let options = [
    Lowering_explain,
    Option<"oneByOne", "one-by-one", "bool", "false",
           "Leave reductions of two terms apart, each with its rounding">,
    Option<"unweighted", "unweighted", "bool", "false",
           "Join terms with any contributions: no average is formed">,
    Option<"sumWidth", "sum-width", "unsigned", "1",
           "Keep and send partial sums in f32, of so many times the bytes of an "
           "element: 2 or 4">
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def UseSwitches : Pass<"coll-use-switches", "::sccl::coll::ProgramOp"> {
  let summary = "Let switches copy and reduce";
  let description = [{
    In a program without signals, on a topology with a `coll.switch`:
      - puts of the same chunks in one step, to all other ranks of a switch that
        multicasts, become one `coll.multicast` (an op for each rank);
      - a `coll.local_reduce` of what all other ranks of a switch that reduces have
        put into scratch, and of a value of this rank, becomes a
        `coll.load_reduce`.
    Both go through scratch, the same slots on all ranks of the switch, which
    come first: ranks copy there what is sent or reduced, and what has come to
    where it belongs. Where a rank has several steps of one kind, as with pieces
    that follow each other, copies, sums and multicasts each have a channel of
    their own, so that they are under way at once. Puts that nobody reads any more, and channels that are
    empty then, go away. A rank uses the first switch that it is of.

    The sums that a switch makes are in an order that nobody knows before, so
    that contracts about it fail in `coll-check-program`, but for `same`, which
    holds where one rank has the sum and the switch copies it.

    Expects programs as `coll-fuse-reductions` leaves them, without LL words,
    double-buffered or wide scratch, and without copy engines. `explain` prints
    what was found, as a remark on each program.

    Example: test/Transforms/use-switches.mlir.
  }];
  let options = [
    Lowering_explain
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def RepeatTransfers : Pass<"coll-repeat-transfers", "::sccl::coll::ProgramOp"> {
  let summary = "Make one op of transfers at even distances";
  let description = [{
    Transfers that follow each other in a channel, belong to one step, and are
    alike but for places that are at even distances in all their buffers, become
    one transfer that is repeated (`times`). Where nothing is reduced,
    `coll-lower-schedule` has made one op of most of them already.

    Expects programs as `coll-lower-schedule` or `coll-fuse-reductions` leaves
    them. `explain` prints what was joined, as a remark on each program.

    Example: test/Transforms/repeat-transfers.mlir.
  }];
  let statistics = [
    Statistic<"numRepeated", "repetitions",
              "transfers that became repetitions of others">,
  ];
  let options = [
    Lowering_explain
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def InsertFlagSync : Pass<"coll-insert-flag-sync", "::sccl::coll::ProgramOp"> {
  let summary = "Insert the signals and waits of the epoch protocol";
  let description = [{
    Makes a `coll.program` safe to run concurrently and again and again without
    a reset by the host:
      - a rank's local channel begins with `coll.signal ready` to every rank that
        reads or writes its buffers, and a channel waits for it before its first
        transfer; where scratch is double-buffered, before the first one that
        touches the peer's input or output, or at its end;
      - after the transfers of one step a channel signals one arrival to each
        rank that reads what they wrote, or owns what they wrote or read;
      - before the transfers of one step a channel waits for the arrivals they
        read, unless it has already waited for them;
      - a rank's local channel ends by waiting for all arrivals, so that the
        kernel returns only when the output is complete and nobody reads the
        rank's buffers any more.
    `coll-remove-redundant-sync` removes what of this is implied by the rest. In
    a program with LL words only the first of these is inserted.

    Expects a program in which no location is written twice, as
    `coll-lower-schedule` leaves it. A program that has a signal, a wait or a
    barrier already is left as it is.

    Example: test/Transforms/insert-flag-sync.mlir.
  }];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def RemoveRedundantSync
    : Pass<"coll-remove-redundant-sync", "::sccl::coll::ProgramOp"> {
  let summary = "Remove signals and waits that others imply";
  let description = [{
    A transitive reduction of the order of events: removes
      - waits for what the channel knows by earlier waits, its own or those of
        the channels that it has heard of, or by the waits next to them;
      - waits for a peer's ready where the channel has already heard, or hears by
        the waits next to them, of something that the peer did in this launch;
      - waits at the end of a rank for what its other channels wait for;
      - in a program with double_buffered scratch, waits for ready that guard nothing
        but scratch, where the rank hears of its peer in every launch anyway;
      - signals that no wait is left for.
    Values are numbered anew. On many ranks, where all channels together would
    know more than `clock-limit` things, only what the channel itself, or at the end the
    rank, has heard counts (docs/Rationale/Coll.md). The statistics count what was removed, for a build
    of LLVM that has them; `explain` prints the same counts with any build, as a
    remark on each program.

    Expects a program with signals and waits that can run: it fails, like
    `coll-check-program`, on a deadlock.

    Example: test/Transforms/remove-redundant-sync.mlir.
  }];
  let statistics = [
    Statistic<"numWaits", "waits", "waits removed">,
    Statistic<"numSignals", "signals", "signals removed">,
    Statistic<"numReadies", "readies",
              "waits for ready removed because scratch is double-buffered">,
  ];
  let options = [
    Option<"clockLimit", "clock-limit", "unsigned", "1 << 23",
           "The most that all channels may know together">,
    Lowering_explain
  ];
}

def SpreadChannels : Pass<"coll-spread-channels", "::sccl::coll::ProgramOp"> {
  let summary = "Give reductions and links the thread blocks that they need";
  let description = [{
    Sets `spread` of the channels of ranks to themselves that reduce, or deliver
    what came into scratch, by what all channels read and write: their blocks have
    about as much to do as those of the others, or half of that, since what a rank
    does stands between what comes and what it sends on. Hosts take no notice.

    With `blocks-per-link=0` it also sets `blocks` of the program: as many as fill
    the limits of the topology by what its `coll.timing` says that a block sends.

    With `sm-budget` no rank gets more blocks than that. Fails if a block for each
    of its channels is more.

    Example: test/Transforms/spread-channels.mlir.
  }];
  let options = [
    Lowering_blocksPerLink, Lowering_smBudget
  ];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def InsertStepBarriers
    : Pass<"coll-insert-step-barriers", "::sccl::coll::ProgramOp"> {
  let summary = "Cut programs into one kernel per step";
  let description = [{
    The alternative to `coll-insert-flag-sync`: puts `coll.barrier` into all
    channels, at the beginning, at the end and wherever a transfer needs the
    result of another channel. Between two barriers no channel depends on
    another one, so that a part can be a kernel, or a set of copies by `dma`
    engines, that the host starts when the part before it is done everywhere.

    Expects a program in which no location is written twice, as
    `coll-lower-schedule` leaves it. A program that has a signal, a wait or a
    barrier already is left as it is.

    Example: test/Transforms/insert-step-barriers.mlir.
  }];
  let dependentDialects = ["::sccl::coll::CollDialect"];
}

def CheckProgram : Pass<"coll-check-program", "::sccl::coll::ProgramOp"> {
  let summary = "Check programs for deadlock, races and wrong results";
  let description = [{
    Executes each `coll.program` symbolically, once, and asks of each access
    whether those that it must not overtake are over in every order. Changes
    nothing. Reports, on the op that causes it:
      - a wait that never ends: nobody signals (D2), or a cycle of waits (D1);
      - two accesses to one slot, one of them a write, that no chain of signals
        and waits orders (H1);
      - a transfer that touches a peer of whose launch nothing is known, or its
        double_buffered scratch without hearing of it in each launch (H3);
      - a slot that is read before anything is in it, a contribution reduced
        twice, or an output that ends without the chunk it must hold (A1);
      - a reduction that is `final` without making its chunks complete, or that
        makes them complete and is not `final` (A1);
      - a rank that may return before its output is complete, or while another
        rank reads or writes its buffers (H1);
      - unless `order` is any, a chunk that two ranks end with after combining
        it in different orders, so that floats may differ (T1); with
        `small-floats`, what several terms at once make is another sum than one
        by one, since it is rounded once. See docs/Numerics.md;
      - if `order` is a tree, a chunk that is combined in another order (T2);
      - with `one-rounding`, a chunk that is rounded more than once, as partial
        sums of it are; in a program with `sum_width`, a partial sum that is
        written to a slot that is not wide (T3);
      - with `in-place`, any of this when the send and the receive buffer of each
        rank overlap as in NCCL's collectives in place, or that they have no such
        overlap, as in an all_to_all (H4).

    Flags only grow and have one writer each, so all executions order the same
    accesses: checking one is enough.

    Example: test/Transforms/check-program.mlir.
  }];
  let options = [
    Lowering_sumOrder,
    Lowering_oneRounding,
    Option<"smallFloats", "small-floats", "bool", "false",
           "Elements are floats of less than 32 bits">,
    Option<"inPlace", "in-place", "bool", "false",
           "Require that the program works in place">,
  ];
}

#endif // SCCL_TRANSFORMS_PASSES
