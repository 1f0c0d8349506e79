//===- CollectiveChoice.cpp - Which collective, among whom ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveChoice.h"

#include "Driver.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <numeric>

using namespace sccl;
using namespace sccl::driver;

std::string driver::joinGroups(const llvm::cl::list<std::string> &groups) {
  // One that is empty is no group, and not no option.
  if (groups.size() == 1 && groups.front().empty())
    return "/";
  return llvm::join(groups.begin(), groups.end(), "/");
}

/// The letters of `name`, all small.
static std::string lettersOf(llvm::StringRef name) {
  std::string letters = name.lower();
  llvm::erase_if(letters, [](char c) { return c == '-' || c == '_'; });
  return letters;
}

std::string driver::collectiveWord(llvm::StringRef spelling) {
  std::vector<llvm::StringRef> names = {"all_gatherv"};
  for (CollectiveKind kind : allCollectiveKinds())
    names.push_back(collectiveName(kind));
  for (llvm::StringRef name : names)
    if (lettersOf(name) == lettersOf(spelling))
      return name.str();
  return spelling.str();
}

std::optional<CollectiveKind>
driver::parseCollective(llvm::StringRef spelling) {
  std::optional<CollectiveKind> kind =
      parseCollectiveName(collectiveWord(spelling));
  if (kind && *kind != CollectiveKind::Custom)
    return kind;
  std::string names;
  for (CollectiveKind known : allCollectiveKinds())
    names += " " + std::string(collectiveName(known));
  names += " all_gatherv, or a file FILE.mlir[:NAME]";
  fail("unknown collective '" + spelling + "', expected one of:" + names);
  return std::nullopt;
}

static std::optional<CollectiveFamily> fails(const llvm::Twine &message) {
  fail(message);
  return std::nullopt;
}

/// The family whose smallest member is `collective`, if there is one.
static std::optional<CollectiveFamily>
definedBy(Result<Collective> collective) {
  if (!collective)
    return fails(collective.error());
  return CollectiveFamily::of(*collective);
}

//===----------------------------------------------------------------------===//
// Collectives in files
//===----------------------------------------------------------------------===//

/// The collective called `name`, or the only one if that is empty, of the file
/// `path`.
static std::optional<Collective> loadCollective(llvm::StringRef path,
                                                llvm::StringRef name) {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(path);
  if (!module)
    return std::nullopt;
  mlir::FailureOr<std::vector<Collective>> defined =
      coll::importCollectives(*module);
  if (failed(defined))
    return std::nullopt;
  std::string names;
  const Collective *found = nullptr;
  for (const Collective &collective : *defined) {
    names += " " + collective.name();
    if (name.empty() ? defined->size() == 1 : name == collective.name())
      found = &collective;
  }
  if (found)
    return *found;
  if (defined->empty())
    fail(path + " defines no collective");
  else if (name.empty())
    fail(path + " defines " + llvm::Twine(defined->size()) +
         " collectives, say which as FILE.mlir:NAME:" + names);
  else
    fail(path + " defines no collective '" + name + "', but:" + names);
  return std::nullopt;
}

/// `spelling` as a path and a name, if it is meant as a file.
static std::optional<std::pair<llvm::StringRef, llvm::StringRef>>
asFile(llvm::StringRef spelling) {
  auto [path, name] = spelling.rsplit(".mlir:");
  if (!name.empty())
    return std::pair(spelling.take_front(path.size() + 5), name);
  if (spelling.ends_with(".mlir") || spelling.contains('/'))
    return std::pair(spelling, llvm::StringRef());
  return std::nullopt;
}

static std::optional<CollectiveFamily>
familyInFile(const CollectiveChoice &choice, llvm::StringRef path,
             llvm::StringRef name, unsigned numRanks) {
  if (choice.root || !choice.groups.empty())
    return fails("a collective from a file has root and groups of its own");
  std::optional<Collective> collective = loadCollective(path, name);
  if (!collective)
    return std::nullopt;
  if (collective->numRanks() != numRanks)
    return fails("collective '" + collective->name() + "' is for " +
                 llvm::Twine(collective->numRanks()) +
                 " ranks, but there are " + llvm::Twine(numRanks));
  return CollectiveFamily::of(*collective);
}

//===----------------------------------------------------------------------===//
// Collectives by name
//===----------------------------------------------------------------------===//

static std::optional<CollectiveFamily>
allGatherV(const CollectiveChoice &choice, unsigned numRanks) {
  if (choice.root)
    return fails("all_gatherv has no root");
  if (!choice.groups.empty())
    return fails("all_gatherv has no groups; ranks with 0 chunks only receive");
  if (choice.chunks.size() != numRanks)
    return fails("all_gatherv needs one number of chunks for each of the " +
                 llvm::Twine(numRanks) + " ranks, got " +
                 llvm::Twine(choice.chunks.size()));
  unsigned divisor = 0;
  for (unsigned count : choice.chunks)
    divisor = std::gcd(divisor, count);
  std::vector<unsigned> counts = choice.chunks;
  for (unsigned &count : counts)
    count /= std::max(divisor, 1u);
  return definedBy(Collective::makeAllGatherV(counts));
}

std::optional<CollectiveFamily>
driver::chooseFamily(const CollectiveChoice &choice, unsigned numRanks) {
  if (auto file = asFile(choice.spelling))
    return familyInFile(choice, file->first, file->second, numRanks);
  if (choice.spelling == "all_gatherv")
    return allGatherV(choice, numRanks);
  std::optional<CollectiveKind> kind = parseCollective(choice.spelling);
  if (!kind)
    return std::nullopt;
  if (choice.root && !isRooted(*kind))
    return fails(llvm::Twine(collectiveName(*kind)) + " has no root");
  CollectiveFamily family{*kind, choice.root.value_or(0)};
  if (choice.groups.empty())
    return family;
  Result<RankGroups> groups = parseRankGroups(choice.groups, numRanks);
  if (!groups)
    return fails("--group: " + groups.error());
  family.groups = std::move(*groups);
  return family;
}
