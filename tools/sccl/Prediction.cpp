//===- Prediction.cpp - What one program takes for one size ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prediction.h"

#include "Driver.h"
#include "Output.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace sccl;
using namespace sccl::driver;

void driver::findBusiest(const SimulationResult &result, const Timing &timing,
                         Prediction &prediction) {
  for (size_t limit = 0; limit < timing.rates.size(); ++limit) {
    double use =
        result.bytesOfLimit[limit] / timing.rates[limit] / result.microseconds;
    if (use > prediction.use) {
      prediction.use = use;
      prediction.busiest = limit;
    }
  }
}

void driver::print(const Prediction &prediction, const Topology &topology,
                   bool isJson) {
  if (isJson) {
    llvm::json::Object object{{"program", prediction.program},
                              {"clock", prediction.clock},
                              {"bytes", prediction.bytes},
                              {"microseconds", prediction.microseconds},
                              {"busiest_limit", prediction.busiest},
                              {"busiest_use", prediction.use}};
    if (prediction.model)
      object["model_microseconds"] = *prediction.model;
    if (prediction.advised)
      object["advised_microseconds"] = *prediction.advised;
    if (prediction.bound)
      object["bound_microseconds"] = *prediction.bound;
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
    return;
  }
  out() << llvm::formatv("{0,12}{1,14:f1}", formatBytes(prediction.bytes),
                         prediction.microseconds);
  auto orBlank = [](const std::optional<double> &microseconds) {
    return microseconds ? llvm::formatv("{0,14:f1}", *microseconds).str()
                        : std::string(14, ' ');
  };
  out() << orBlank(prediction.advised ? prediction.advised : prediction.model);
  if (prediction.bound)
    out() << orBlank(prediction.bound);
  if (prediction.use > 0) {
    const BandwidthLimit &limit = topology.limits()[prediction.busiest];
    const Link &link = topology.links()[limit.links.front()];
    out() << llvm::formatv("{0,8:P0} of {1} -> {2}", prediction.use, link.src,
                           link.dst);
    if (limit.links.size() > 1)
      out() << " and " << limit.links.size() - 1 << " more";
  }
  if (prediction.advised || prediction.bound)
    out() << "   " << prediction.program;
  out() << '\n';
}
