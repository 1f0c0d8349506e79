//===- Overview.h - The subcommands by task ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_OVERVIEW_H
#define SCCL_TOOLS_SCCL_OVERVIEW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

#include <string>

namespace sccl::driver {

/// A subcommand, with a first command line for it.
struct CommandEntry {
  const char *name;
  const char *example;
};

/// What one wants to do, and the subcommands for it.
struct Task {
  const char *name;
  llvm::ArrayRef<CommandEntry> commands;
};

/// All tasks, in the order in which users meet them.
llvm::ArrayRef<Task> tasks();

/// The subcommand `name`, which must exist.
llvm::cl::SubCommand &findCommand(llvm::StringRef name);
/// What a subcommand does: the first sentence of its description.
std::string summaryOf(const llvm::cl::SubCommand &command);

/// True if the only argument asks for help.
bool asksForOverview(int argc, char **argv);
/// What --help says: all subcommands by task, with an example of each.
void printOverview(llvm::raw_ostream &stream);

/// What to type in place of a subcommand or an option of earlier versions, both
/// without dashes; empty if `word` is none.
std::string commandInPlaceOf(llvm::StringRef word);
std::string optionInPlaceOf(llvm::StringRef word);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_OVERVIEW_H
