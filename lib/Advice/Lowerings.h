//===- Lowerings.h - The programs of candidates -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_LOWERINGS_H
#define SCCL_LIB_ADVICE_LOWERINGS_H

#include "Choice.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Advice/MessageTraffic.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <optional>
#include <vector>

namespace sccl::advice {

/// Lowers variants, once each as far as there is room, to what is simulated of
/// their programs. While one is lowered, a second thread lowers the one that is
/// likely to be asked for next; no result depends on that.
class Lowerings {
public:
  /// What is simulated of one program; null if there is none.
  template <typename Program>
  using Lowered = Result<std::shared_ptr<const Program>>;

  /// All must outlive this. Has one way more than `ways`, which is that of
  /// programs in which switches copy and reduce.
  Lowerings(mlir::MLIRContext &context, const Fabric &fabric,
            const std::vector<Candidate> &candidates,
            const std::vector<LoweringWay> &ways);

  const LoweringWay &wayOf(const Variant &variant) const {
    return ways[variant.way];
  }
  bool isInNetwork(const Variant &variant) const {
    return variant.way + 1 == ways.size();
  }

  /// What the program of `variant` moves. Null once `deadline` is over, or if
  /// ranks must reduce in one order and do not.
  Lowered<Traffic> traffic(const Variant &variant,
                           const std::optional<Variant> &next,
                           const Deadline &deadline);
  /// The same by messages between hosts.
  Lowered<MessageTraffic> messages(const Variant &variant,
                                   const std::optional<Variant> &next,
                                   const Deadline &deadline);

private:
  template <typename Program>
  using Read = llvm::function_ref<mlir::FailureOr<Program>(
      coll::ProgramOp, const Collective &, const Variant &)>;
  template <typename Program>
  Lowered<Program> lower(mlir::MLIRContext &context, const Variant &variant,
                         bool isForMessages, const Deadline &deadline,
                         Read<Program> read) const;
  template <typename Program>
  Lowered<Program> lowerTwo(const Variant &variant, std::optional<Variant> next,
                            bool isForMessages, const Deadline &deadline,
                            Read<Program> read, ProgramStore<Program> &store);

  mlir::MLIRContext &context;
  mlir::MLIRContext secondContext; ///< of the second thread
  const Fabric &fabric;
  const std::vector<Candidate> &candidates;
  std::vector<LoweringWay> ways;
  ProgramStore<Traffic> traffics;
  ProgramStore<MessageTraffic> messageTraffics{0}; ///< only the next one
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_LOWERINGS_H
