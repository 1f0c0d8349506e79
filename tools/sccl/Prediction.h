//===- Prediction.h - What one program takes for one size -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PREDICTION_H
#define SCCL_TOOLS_SCCL_PREDICTION_H

#include "sccl/Simulate/Simulator.h"

#include <optional>
#include <string>

namespace sccl::driver {

/// What one program takes for one size.
struct Prediction {
  std::string program;
  const char *clock; ///< whose it is, see Clock
  uint64_t bytes;
  double microseconds;
  /// S * alpha + (R/C) * L * beta of the schedule; nothing for a program.
  std::optional<double> model = std::nullopt;
  /// What `sccl plan` said: of this size, and what no program takes less than.
  std::optional<double> advised = std::nullopt, bound = std::nullopt;
  /// The limit that is used the most: its number, and the part of the time that
  /// its bytes take.
  size_t busiest = 0;
  double use = 0;
};

/// Notes which limit is used the most.
void findBusiest(const SimulationResult &result, const Timing &timing,
                 Prediction &prediction);

/// A line of a table, or an object of JSON.
void print(const Prediction &prediction, const Topology &topology, bool isJson);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PREDICTION_H
