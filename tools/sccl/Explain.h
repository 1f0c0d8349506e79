//===- Explain.h - What sccl explain is asked for ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_EXPLAIN_H
#define SCCL_TOOLS_SCCL_EXPLAIN_H

#include "Pictures.h"

#include "sccl/Options/LoweringOptions.h"

#include <string>
#include <vector>

namespace sccl::driver {

/// The options of `sccl explain` that its forms share.
struct ExplainRequest {
  std::vector<std::string> inputs;
  uint64_t bytes;      ///< of a send buffer that sentences are about
  std::string machine; ///< of --machine, empty without it
  const PictureFlags &flags;
  CostModel model;             ///< of `flags`
  std::vector<uint64_t> sizes; ///< of `flags`
  std::string output;
  bool json;
};

/// The forms of an explanation. Each prints an error if there is need to, and
/// returns the exit code.
int explainInWords(const ExplainRequest &request);
/// A page of HTML in the output.
int writePage(const ExplainRequest &request);
/// Which sum is explained.
struct SumRequest {
  std::string path; ///< of a plan, a folder or a file
  uint64_t element; ///< of an output
  std::optional<unsigned> rank;
  uint64_t bytes; ///< of a send buffer
  bool json;
  /// Of a schedule that does not say how it is lowered.
  LoweringOptions lowering = {};
};
/// How an element is added up, by whom, and when.
int explainSum(const SumRequest &request);
/// What the plan at `path` holds.
int printContents(llvm::StringRef path, bool json);

enum class PictureKind { None, Machine, Frontier, Time, Steps, Trees };
/// An SVG or PNG in the output, with up to `trees` trees.
int drawPicture(const ExplainRequest &request, PictureKind kind,
                unsigned trees);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_EXPLAIN_H
