//===- Ways.h - Ways to lower as options of lowering ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PIPELINES_WAYS_H
#define SCCL_PIPELINES_WAYS_H

#include "sccl/Dialect/Coll/Way.h"
#include "sccl/Model/Program.h"
#include "sccl/Options/LoweringOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace sccl {

namespace coll {
class ScheduleOp;
} // namespace coll

/// `base` with what `way` says in its place.
LoweringOptions optionsOf(const coll::Way &way, LoweringOptions base);

/// The way that `options` ask for, without sizes. Transports of single links
/// have no place in it.
coll::Way wayOf(const LoweringOptions &options);

/// What plans and `--variant` call a way, whatever its pieces:
///  - push: peers write receive buffers;
///  - pull: ranks read their peers' send buffers;
///  - scratch: peers write scratch memory only, two halves of it by turns;
///  - dma: hosts copy between ranks, by copy engines or the operating system,
///    and functions run in between;
///  - ll: peers write words of data and launch number to scratch memory;
///  - single-scratch: as scratch, with one half and a handshake;
///  - eager: as scratch in the first step, and as push in all others.
llvm::StringRef nameOf(const coll::Way &way);
/// The name and the pieces, as "scratch in 4 pieces in rounds at 64".
std::string describe(const coll::Way &way);
/// " in rounds at 64"; empty for the usual order.
std::string describe(PieceOrder order);
/// The way of this name in one piece; nothing if there is none.
std::optional<coll::Way> findWay(llvm::StringRef name);

/// The one of `ways` that is the best at the size next to `bytes`, or the first
/// if none says for which sizes it is; the usual way if there are none.
coll::Way wayFor(llvm::ArrayRef<coll::Way> ways, double bytes);
/// The same of the largest size that they speak of.
inline coll::Way wayForLargest(llvm::ArrayRef<coll::Way> ways) {
  return wayFor(ways, 1e30);
}

/// A copy of the module of `schedule` with its program, lowered in this `way`,
/// and no other, and else as `base` says. Emits an error and returns null if it
/// cannot be lowered.
mlir::OwningOpRef<mlir::ModuleOp> lowerAs(coll::ScheduleOp schedule,
                                          const coll::Way &way,
                                          const LoweringOptions &base = {});
/// The program of `schedule` in the pieces of `way` and their order, as a list,
/// for engines that have connections. Whatever memory the way goes through,
/// they have their own, so it is a push.
mlir::FailureOr<Program> programOf(coll::ScheduleOp schedule, coll::Way way);

} // namespace sccl

#endif // SCCL_PIPELINES_WAYS_H
