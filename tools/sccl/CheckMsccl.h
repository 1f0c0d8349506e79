//===- CheckMsccl.h - sccl check of files of MSCCL --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_CHECKMSCCL_H
#define SCCL_TOOLS_SCCL_CHECKMSCCL_H

#include "sccl/Exchange/Msccl.h"
#include "sccl/Exchange/Mscclpp.h"

#include "llvm/Support/CommandLine.h"

namespace sccl::driver {

/// The options of a subcommand that reads files of MSCCL: --as, --root,
/// --dialect and --in-flight.
class MscclFlags {
public:
  explicit MscclFlags(llvm::cl::SubCommand &command);

  /// Prints an error and returns nothing if --as names no collective.
  std::optional<exchange::MscclCheckOptions> read() const;
  /// The same for plans of MSCCL++, which have no dialects.
  std::optional<exchange::MscclppCheckOptions> readForMscclpp() const;
  /// "--NAME" of the first that was given; empty if none was.
  std::string findGiven() const;
  /// The same of those that say what a file is that is read.
  std::string findOfInputs() const;
  /// False, after an error, if a root was given for what has none.
  bool rootFits(CollectiveKind kind) const;
  std::optional<exchange::MscclDialect> givenDialect() const;

private:
  llvm::cl::opt<std::string> as;
  llvm::cl::opt<unsigned> root;
  llvm::cl::opt<exchange::MscclDialect> dialect;
  llvm::cl::opt<unsigned> inFlight;
};

/// True if `path` is called like an algorithm of another tool: .xml or .json.
bool isAlgorithmFile(llvm::StringRef path);

/// Reads an algorithm of MSCCL. Prints an error and returns nothing if it
/// cannot.
std::optional<exchange::MscclAlgorithm> readMsccl(llvm::StringRef path);

/// The schedule that a file of another tool follows, whatever tool that is.
/// Prints an error and returns nothing if there is none. Its notes are left to
/// those who use it.
std::optional<exchange::FoundSchedule> readSchedule(llvm::StringRef path,
                                                    const MscclFlags &flags);

/// Which calls an engine takes whose buffers are cut into equal parts: those
/// with a multiple of `all` elements or bytes, `ofRank` of each rank.
std::string takenCounts(uint64_t all, uint64_t ofRank);
std::string takenSizes(uint64_t all, uint64_t ofRank);

/// Prints what a file leaves open.
void printNotes(llvm::StringRef path, llvm::ArrayRef<std::string> notes);

/// Checks a file of another tool, prints what it is or all that is wrong with
/// it, and returns the exit code.
int checkAlgorithm(llvm::StringRef path, const MscclFlags &flags, bool json);

/// Checks that the schedule of a file of another tool runs on the topology that
/// `spec` names, with its ranks in their order: a name, an .mlir file, or a
/// file that `topo --import` takes. Prints and returns likewise.
int checkAlgorithmOn(llvm::StringRef path, llvm::StringRef spec,
                     const MscclFlags &flags, bool json);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_CHECKMSCCL_H
