//===- AlgorithmSet.h - Files of other tools for all sizes ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of MSCCL++ or MSCCL is for some sizes of calls. A set is a folder with
// the files for all sizes of one collective, what makes the executor load them,
// and set.json, which says which file is for which calls.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_ALGORITHMSET_H
#define SCCL_EXCHANGE_ALGORITHMSET_H

#include "sccl/Exchange/Place.h"
#include "sccl/Model/Collective.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sccl::exchange {

/// What loads a set.
enum class SetExecutor {
  Mscclpp, ///< MSCCL++ 0.9
  Nccl,    ///< msccl-executor-nccl
  Rccl,    ///< RCCL 6.2 to 7.2
};
/// "mscclpp", "nccl" or "rccl".
std::string_view setExecutorName(SetExecutor executor);

struct SetFile {
  Place place;
  std::string path; ///< in the folder of the set
  std::string name; ///< that it gives itself
  std::string hash; ///< of its text, see hashOfText()
  /// Bytes of the larger buffer of the calls that it is for.
  uint64_t least, most;
  bool inPlace, outOfPlace;
  /// What a rank's part of a buffer, or the buffer if it has none, must be a
  /// multiple of: in bytes for MSCCL++, in elements for MSCCL.
  uint64_t multiple;
  std::string program; ///< a few words for people
  /// Predicted for the least and the most.
  uint64_t leastNanoseconds, mostNanoseconds;
  std::vector<std::string> notes; ///< where it is not what was advised
};

/// Calls that no file is for.
struct SetGap {
  Place place;
  uint64_t least, most; ///< bytes of the larger buffer
  bool inPlace;
  std::string reason;
};

struct AlgorithmSet {
  SetExecutor executor;
  CollectiveKind kind;
  unsigned ranks, ranksPerBox;
  uint64_t least, most; ///< bytes of the larger buffer
  std::vector<SetFile> files;
  std::vector<SetGap> gaps;

  /// True if a buffer has a part for each rank.
  bool isShared() const;
  /// The folder, in that of the set, of the files, and of nothing else.
  std::string_view folder() const;
  /// What makes the executor load the files.
  std::string_view loader() const;
  /// Bytes of the larger buffer as bytes of what a call counts.
  uint64_t part(uint64_t bytes) const {
    return isShared() ? bytes / ranks : bytes;
  }
};

/// The name of the file that says what is in a set.
inline constexpr std::string_view setManifest = "set.json";

/// 64 bits of FNV-1a, in hexadecimal.
std::string hashOfText(std::string_view text);

/// What set.json says.
std::string printSet(const AlgorithmSet &set);
/// The same, read. Returns nothing, and says in `findings` why, if it is no
/// JSON, something is missing or of the wrong type, or a path leaves the
/// folder.
std::optional<AlgorithmSet> parseSet(std::string_view text, Findings &findings);

/// The text of what makes the executor load the files: C++ that registers them
/// with MSCCL++, or a script with the variables that MSCCL looks at.
std::string loaderText(const AlgorithmSet &set);

/// Checks that `texts`, by paths in the folder, are the files of `set` and its
/// loader, that each file is right by itself and is what `set` says of it, that
/// none is there that the executor would load beside them, and that a call in
/// place or out of place, of each size from the least to the most, has one file
/// or a reason. Says in `findings` what is wrong. Returns true if nothing is.
bool checkSet(const AlgorithmSet &set,
              const std::map<std::string, std::string> &texts,
              Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_ALGORITHMSET_H
