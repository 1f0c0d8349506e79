//===- TecclDemands.h - Demands of TE-CCL -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_TECCLDEMANDS_H
#define SCCL_LIB_EXCHANGE_TECCLDEMANDS_H

#include "sccl/Model/Collective.h"

#include <map>
#include <optional>
#include <set>

namespace sccl::exchange {

/// A chunk of a GPU.
struct TecclPiece {
  unsigned from, number;
  auto operator<=>(const TecclPiece &) const = default;
};

/// For each chunk the GPUs that ask for it. GPUs are numbered as vertices,
/// among which there are switches.
class TecclDemands {
public:
  void add(TecclPiece piece, unsigned to);
  bool empty() const { return destinations.empty(); }

  /// The collective that they are, with each chunk of the file cut into `parts`
  /// of equal size; ranks are the vertices in ascending order. Fails if they
  /// are for neither an all_gather, a broadcast nor an all_to_all.
  Result<Collective> collective(unsigned parts);
  /// After that: the rank of a vertex, and the first part of a chunk.
  std::optional<unsigned> rankOf(unsigned vertex) const;
  std::optional<unsigned> chunkOf(TecclPiece piece) const;

private:
  std::optional<CollectiveKind> kind() const;
  void numberChunks(CollectiveKind kind, unsigned parts);

  std::map<TecclPiece, std::set<unsigned>> destinations;
  std::set<unsigned> vertices;
  std::map<unsigned, unsigned> ranks;    ///< by vertex
  std::map<TecclPiece, unsigned> chunks; ///< of the collective
};

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_TECCLDEMANDS_H
