//===- CollectiveChoice.h - Which collective, among whom --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_COLLECTIVECHOICE_H
#define SCCL_TOOLS_SCCL_COLLECTIVECHOICE_H

#include "sccl/Model/CollectiveFamily.h"

#include "llvm/Support/CommandLine.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl::driver {

/// The name of the collective that `spelling` means: "all_reduce" for
/// "all-reduce", "allreduce" and "AllReduce". `spelling` if it is no name.
std::string collectiveWord(llvm::StringRef spelling);

/// What the options say about a collective.
struct CollectiveChoice {
  /// A name as collectiveWord() has it, or FILE.mlir[:NAME].
  std::string spelling;
  /// As `parseRankGroups` reads them, joined by '/'; empty if all ranks take
  /// part.
  std::string groups;
  std::optional<unsigned> root;
  std::vector<unsigned> chunks; ///< of each rank, for all_gatherv
};

/// The collective on `numRanks` ranks. Prints an error and returns nothing if
/// there is none: it is unknown, or in a file that does not hold it, or root,
/// groups or chunks do not fit.
std::optional<CollectiveFamily> chooseFamily(const CollectiveChoice &choice,
                                             unsigned numRanks);

/// What --help says.
inline constexpr const char *collectiveHelp =
    "all_gather, all_gatherv, broadcast, ..., or a file that defines one";
inline constexpr const char *collectiveValue = "NAME|FILE.mlir[:NAME]";
inline constexpr const char *groupHelp =
    "Only among these ranks, as 0-3,8-11 or 0-56:8; several groups at once by "
    "'/', or repeated, or as blocks:N or strides:N";

/// Of --order, for commands that look for schedules.
inline constexpr const char *scheduleOrderHelp =
    "Order of additions: any, same, rank, tree, left, ring:R or a tree as "
    "'((0+1)+(2+3))' or in a file; any and same are left to programs";

/// The groups of a repeated option.
std::string joinGroups(const llvm::cl::list<std::string> &groups);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_COLLECTIVECHOICE_H
