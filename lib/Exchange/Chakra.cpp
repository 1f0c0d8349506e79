//===- Chakra.cpp - Execution traces for simulators -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of fields are those of Chakra's et_def.proto.
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Chakra.h"

#include "MscclExport.h"
#include "MscclStructure.h"

#include <protozero/pbf_writer.hpp>

#include <map>

using namespace sccl;
using namespace sccl::exchange;

namespace {
enum NodeKind { Compute = 4, SendNode = 5, ReceiveNode = 6 };

/// Writes the trace of one rank.
class TraceWriter {
public:
  explicit TraceWriter(const std::string &collective) {
    std::string head;
    protozero::pbf_writer metadata(head);
    metadata.add_string(1, "0.0.4");
    std::string attribute;
    protozero::pbf_writer value(attribute);
    value.add_string(1, "collective");
    value.add_string(29, collective);
    metadata.add_message(2, attribute);
    append(head);
  }
  /// Adds a node and returns its number.
  uint64_t add(NodeKind kind, const std::string &name,
               const std::vector<uint64_t> &after, int peer = -1,
               uint64_t bytes = 0, uint32_t tag = 0) {
    std::string text;
    protozero::pbf_writer node(text);
    node.add_uint64(1, count);
    node.add_string(2, name);
    node.add_enum(3, kind);
    node.add_packed_uint64(5, after.begin(), after.end());
    auto attribute = [&](const char *key, int field, uint64_t value) {
      std::string inner;
      protozero::pbf_writer writer(inner);
      writer.add_string(1, key);
      writer.add_int64(protozero::pbf_tag_type(field), int64_t(value));
      node.add_message(10, inner);
    };
    if (peer >= 0) {
      attribute("comm_type", 9, kind);
      attribute("comm_size", 9, bytes);
      attribute(kind == SendNode ? "comm_dst" : "comm_src", 7, uint64_t(peer));
      attribute("comm_tag", 7, tag);
    }
    append(text);
    return count++;
  }

  std::string text;

private:
  /// Messages follow each other, each behind its length.
  void append(const std::string &message) {
    protozero::write_varint(std::back_inserter(text), message.size());
    text += message;
  }
  uint64_t count = 0;
};
} // namespace

/// By step over all blocks, a number that it shares with its counterpart only,
/// among those between the same ranks.
static std::vector<uint32_t> tagsOf(const MscclAlgorithm &algorithm) {
  std::vector<std::pair<uint32_t, const MscclBlock *>> blockOf;
  for (uint32_t rank = 0; rank < algorithm.gpus.size(); ++rank)
    for (const MscclBlock &block : algorithm.gpus[rank].blocks)
      blockOf.insert(blockOf.end(), block.steps.size(), {rank, &block});
  std::vector<uint32_t> tags(blockOf.size());
  std::map<std::pair<uint32_t, int>, uint32_t> next;
  Findings none;
  for (auto [send, receive] : matchMsccl(algorithm, none)) {
    auto [rank, block] = blockOf[send];
    tags[send] = tags[receive] = next[{rank, block->sendPeer}]++;
  }
  return tags;
}

/// Nodes of a rank come after those of the steps that they wait for, so that
/// their numbers are known when all steps have theirs.
static std::string writeRank(const MscclAlgorithm &algorithm, uint32_t rank,
                             uint32_t first, const std::vector<uint32_t> &tags,
                             const std::string &collective,
                             uint64_t chunkBytes) {
  const std::vector<MscclBlock> &blocks = algorithm.gpus[rank].blocks;
  std::map<std::pair<int, int>, uint64_t> last; ///< node of block and step
  uint64_t number = 0;
  for (int b = 0; b < int(blocks.size()); ++b)
    for (int s = 0; s < int(blocks[b].steps.size()); ++s) {
      bool isTwo = blocks[b].steps[s].type == MscclType::ReceiveReduceCopy;
      number += isTwo ? 2 : 1;
      last[{b, s}] = number - 1;
    }
  TraceWriter writer(collective);
  uint32_t step = first;
  for (int b = 0; b < int(blocks.size()); ++b)
    for (int s = 0; s < int(blocks[b].steps.size()); ++s, ++step) {
      const MscclStep &now = blocks[b].steps[s];
      std::vector<uint64_t> after;
      if (s > 0)
        after.push_back(last.at({b, s - 1}));
      if (now.waitsForBlock >= 0)
        after.push_back(last.at({now.waitsForBlock, now.waitsForStep}));
      std::string name =
          "block" + std::to_string(b) + "_step" + std::to_string(s);
      uint64_t bytes = uint64_t(now.count) * chunkBytes;
      if (sends(now.type)) {
        writer.add(SendNode, "send_" + name, after, blocks[b].sendPeer, bytes,
                   tags[step]);
      } else if (receives(now.type)) {
        uint64_t got = writer.add(ReceiveNode, "receive_" + name, after,
                                  blocks[b].receivePeer, bytes, tags[step]);
        if (now.type == MscclType::ReceiveReduceCopy)
          writer.add(Compute, "reduce_" + name, {got});
      } else {
        writer.add(Compute, "local_" + name, after);
      }
    }
  return std::move(writer.text);
}

Result<std::vector<std::string>>
exchange::toChakra(const Collective &collective, const Program &program,
                   uint64_t bytes) {
  if (collective.kind() == CollectiveKind::Custom)
    return Error{"a trace of '" + collective.name() + "' would have no name"};
  uint64_t chunkBytes = bytes / program.chunks;
  if (chunkBytes == 0)
    return Error{std::to_string(bytes) + " bytes are less than " +
                 std::to_string(program.chunks) + " chunks"};
  constexpr size_t anyNumber = ~size_t(0) / 2;
  MscclAlgorithm algorithm = makeMsccl(collective, program, anyNumber);
  std::vector<uint32_t> tags = tagsOf(algorithm);
  std::vector<std::string> traces;
  uint32_t first = 0;
  for (uint32_t rank = 0; rank < algorithm.gpus.size(); ++rank) {
    traces.push_back(
        writeRank(algorithm, rank, first, tags, collective.name(), chunkBytes));
    for (const MscclBlock &block : algorithm.gpus[rank].blocks)
      first += uint32_t(block.steps.size());
  }
  return traces;
}
