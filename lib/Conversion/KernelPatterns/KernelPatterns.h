//===- KernelPatterns.h - From collk ops to calls of helpers ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What thread blocks and host threads execute becomes calls of the same
// helpers (Helpers.h).
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_KERNELPATTERNS_KERNELPATTERNS_H
#define SCCL_LIB_CONVERSION_KERNELPATTERNS_KERNELPATTERNS_H

#include "Frame.h"

#include "../Common/Helpers.h"

#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>

namespace mlir {
class RewritePatternSet;
class TypeConverter;
} // namespace mlir

namespace sccl::collk {

/// The flags that code of single ranks sets and polls, as a table in the module
/// of words like those of TableFlag. Flags of equal ops are listed once.
class FlagList {
public:
  using Words = std::vector<int32_t>;
  /// The byte offset of flags with these words.
  uint64_t offsetOf(const Words &flags);
  llvm::ArrayRef<int32_t> words() const { return all; }

private:
  Words all;
  std::map<Words, uint64_t> known;
};

/// What patterns need to know beside the op.
struct KernelLowering {
  mlir::Type pointer;    ///< to memory of the device
  bool averages = false; ///< reductions divide
  bool chooses = false;  ///< a launch says which reduction
  bool isHost = false;
  /// Of each channel; none if a launch says how many it has.
  std::optional<unsigned> blocks;
  /// On a host, chunks in the buffers of all ranks; none if a table says it.
  std::optional<uint32_t> slots;
  std::string flagSymbol; ///< of the program's list of flags
  Frames frames;
  FlagList flags;
  std::string markSymbol; ///< of the program's list of marks
  FlagList marks;         ///< of the words of TraceMark
  uint32_t chunks = 0;    ///< of a segment, for marks
  /// Functions have these arguments after those of KernelABI.h.
  llvm::SmallVector<mlir::Type> moreArguments;
  /// Adds patterns, which come before those for all targets.
  std::function<void(mlir::RewritePatternSet &, const mlir::TypeConverter &)>
      addPatterns;
};

/// Converts all collk ops in `scope`, which holds functions with frames.
llvm::LogicalResult lowerKernels(mlir::Operation *scope,
                                 KernelLowering &lowering);

/// Creates the list of flags at the builder's insertion point.
void createFlagList(mlir::OpBuilder &builder, mlir::Location loc,
                    const KernelLowering &lowering);
/// The same for marks, if there are any; declares what is called there.
void createMarkList(mlir::OpBuilder &builder, mlir::Location loc,
                    const KernelLowering &lowering);

/// Each of `reductions` on each of `elements`, or where there are none the
/// single `reduction` or `element`.
std::vector<coll::ElementOp> reductionsOf(llvm::ArrayRef<Element> elements,
                                          Element element,
                                          llvm::ArrayRef<Reduction> reductions,
                                          Reduction reduction,
                                          bool convertsHalves);

/// Sets what the helpers for `program` must be able to do, but not for whom.
/// Emits an error and fails if elements do not fit into its LL words, or if
/// there is no switch, or none that reduces them, for its transfers.
llvm::LogicalResult noteNeeds(ProgramOp program,
                              llvm::ArrayRef<coll::ElementOp> ops,
                              coll::HelperOptions &options);

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_KERNELPATTERNS_KERNELPATTERNS_H
