//===- TecclVolumes.h - Parts of chunks in TE-CCL ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_TECCLVOLUMES_H
#define SCCL_LIB_EXCHANGE_TECCLVOLUMES_H

#include "Json.h"

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

/// A hop of a part of a chunk.
struct TecclHop {
  unsigned src, dst, epoch;
  double volume; ///< of a chunk
};

/// What a chunk does on its way from its source to a GPU that asks for it: each
/// path is a list of hops of one volume.
struct TecclDelivery {
  TecclPiece piece;
  unsigned to;
  std::vector<std::vector<TecclHop>> paths;
};

/// Reads the paths of a file whose flows have volumes, as those of an
/// all_to_all: chunks are cut there, and only the names of the paths say who
/// asks for them.
std::vector<TecclDelivery> readTecclPaths(JsonReader &json,
                                          const Json::Value &paths);

/// Into how many equal parts chunks are cut.
struct TecclCut {
  unsigned parts = 1;
  bool isExact = true; ///< each path takes a whole number of them
};
/// The fewest parts of which each path takes a whole number; of those that
/// would be too many, `parts` that volumes are rounded to.
TecclCut tecclCut(const std::vector<TecclDelivery> &deliveries);

/// How many of `parts` parts each path of a delivery takes, all together: by
/// its volume, rounded so that the largest remainders get one more.
std::vector<unsigned> partsOf(const TecclDelivery &delivery, unsigned parts);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_TECCLVOLUMES_H
