//===- MscclTrace.h - What a file of MSCCL does, step by step ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLTRACE_H
#define SCCL_LIB_EXCHANGE_MSCCLTRACE_H

#include "Trace.h"

#include "sccl/Exchange/Msccl.h"

#include <algorithm>

namespace sccl::exchange {

/// Where the buffers of each rank are, as chunks of the collective.
class MscclLayout {
public:
  MscclLayout(const MscclAlgorithm &algorithm, CollectiveKind kind,
              bool inPlace)
      : algorithm(algorithm), inPlace(inPlace) {
    auto chunks = uint32_t(algorithm.chunks);
    auto part = uint32_t(algorithm.chunks / algorithm.gpus.size());
    inputs = kind == CollectiveKind::AllGather ? part : chunks;
    outputs = kind == CollectiveKind::ReduceScatter ? part : chunks;
    gathers = kind == CollectiveKind::AllGather;
    scatters = kind == CollectiveKind::ReduceScatter;
  }
  uint32_t numInputs() const { return inputs; }
  uint32_t numOutputs() const { return outputs; }
  uint32_t numCells(uint32_t rank) const {
    return scratch() + uint32_t(algorithm.gpus[rank].scratchChunks);
  }
  /// In place, the smaller buffer is the rank's part of the larger one.
  uint32_t cell(uint32_t rank, MscclBuffer buffer, uint32_t chunk) const {
    switch (buffer) {
    case MscclBuffer::Input:
      return chunk + (inPlace && gathers ? rank * inputs : 0);
    case MscclBuffer::Output:
      if (!inPlace)
        return inputs + chunk;
      return chunk + (scatters ? rank * outputs : 0);
    case MscclBuffer::Scratch:
      break;
    }
    return scratch() + chunk;
  }
  uint32_t size(uint32_t rank, MscclBuffer buffer) const {
    return buffer == MscclBuffer::Input ? inputs
           : buffer == MscclBuffer::Output
               ? outputs
               : uint32_t(algorithm.gpus[rank].scratchChunks);
  }

private:
  uint32_t scratch() const {
    return inPlace ? std::max(inputs, outputs) : inputs + outputs;
  }

  const MscclAlgorithm &algorithm;
  const bool inPlace;
  bool gathers, scatters;
  uint32_t inputs, outputs;
};
/// The steps of a file that checkMscclStructure has accepted. Says in
/// `findings` which leave their buffers or have no counterpart.
Trace makeMscclTrace(const MscclAlgorithm &algorithm, const MscclLayout &layout,
                     bool inPlace, Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLTRACE_H
