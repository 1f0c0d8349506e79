//===- ForeignFile.h - Schedules in files of other tools --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_FOREIGNFILE_H
#define SCCL_TOOLS_SCCL_FOREIGNFILE_H

#include "Driver.h"

#include "sccl/Exchange/Msccl.h"
#include "sccl/Exchange/Mscclpp.h"
#include "sccl/Model/FileKind.h"

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

/// A file of another tool: an algorithm of MSCCL, a plan of MSCCL++, a schedule
/// of TE-CCL or trees of ForestColl, by its name and its text.
struct ForeignText {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  FileKind kind;
  llvm::StringRef text() const { return buffer->getBuffer(); }
};
/// Prints an error and returns nothing if `path` cannot be read, is larger than
/// any engine would read, or is a file of another kind.
std::optional<ForeignText> readForeignText(llvm::StringRef path);

/// What `parse` makes of a text. Prints what is wrong with it, and returns
/// nothing, if it cannot.
template <typename T>
std::optional<T>
parseWith(std::optional<T> (*parse)(std::string_view, exchange::Findings &),
          llvm::StringRef path, llvm::StringRef text, bool json = false);

/// Prints all of `findings`, as JSON too if asked to. Returns BadInput.
int refuse(llvm::StringRef path, const exchange::Findings &findings, bool json);

/// The schedule that `file`, which `path` names, follows. Prints an error and
/// returns nothing if there is none. Its notes are left to those who use it.
/// Without `flags` a file means what it says, and the root is 0.
std::optional<exchange::FoundSchedule> readSchedule(llvm::StringRef path,
                                                    const ForeignText &file,
                                                    const MscclFlags *flags,
                                                    bool json = false);

/// Puts `found` on another topology, with ranks in their order and the fewest
/// rounds. Says in `findings` why it cannot run there: other ranks, or links
/// that are not there.
void placeOn(const Placement &placement, exchange::FoundSchedule &found,
             exchange::Findings &findings);

/// Prints what a file leaves open.
void printNotes(llvm::StringRef path, llvm::ArrayRef<std::string> notes);

template <typename T>
std::optional<T>
parseWith(std::optional<T> (*parse)(std::string_view, exchange::Findings &),
          llvm::StringRef path, llvm::StringRef text, bool json) {
  exchange::Findings findings;
  std::optional<T> result = parse(text, findings);
  if (!result)
    refuse(path, findings, json);
  return result;
}

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_FOREIGNFILE_H
