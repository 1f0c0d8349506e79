//===- Metrics.h - What is measured, and its bars ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_BENCH_GPU_METRICS_H
#define SCCL_TOOLS_SCCL_BENCH_GPU_METRICS_H

#include "Cuda.h"

#include <optional>

namespace sccl::gpubench {

/// Prints one line per figure.
class Report {
public:
  void head(const std::string &device);
  /// A figure with a bar: `isMet` tells whether it holds.
  void add(const char *id, const std::string &what, const std::string &value,
           const std::string &bar, bool isMet);
  /// A figure without one.
  void note(const char *id, const std::string &what, const std::string &value);
  void missing(const char *id, const std::string &what,
               const std::string &reason);
  /// The counts of lines.
  void foot();

private:
  unsigned met = 0, missed = 0, absent = 0;
};

/// "1.234", with `digits` behind the point.
std::string number(double value, int digits = 2);

/// What metrics share; later ones need what earlier ones found.
struct Bench {
  Bench(Cuda &cuda, Report &report, std::string folder)
      : cuda(cuda), report(report), folder(std::move(folder)) {}

  Cuda &cuda;
  Report &report;
  std::string folder;
  void *handWritten = nullptr; ///< the module, if there is one
  std::string whyNotHandWritten = "there is no hand-written.ptx";
  std::optional<double> copyRate; ///< bytes read and written per second
  std::optional<double> oneWay;   ///< seconds from flag to flag

  std::string file(const char *name) const { return folder + "/" + name; }
  /// A hand-written kernel. Fails if there is none.
  Kernel hand(const std::string &symbol, unsigned blocks,
              unsigned blockSize) const;
  /// Fails if G1 did.
  double needCopyRate() const;
};

/// Each measures one metric of the table in docs/KernelQuality.md.
void measureCopy(Bench &bench);       ///< G1
void measureReduce(Bench &bench);     ///< G2
void measureFlags(Bench &bench);      ///< G3
void measureCollective(Bench &bench); ///< G4
void measureSmall(Bench &bench);      ///< G5
void measureReady(Bench &bench);      ///< G6
void measureByHand(Bench &bench);     ///< G7

} // namespace sccl::gpubench

#endif // SCCL_TOOLS_SCCL_BENCH_GPU_METRICS_H
