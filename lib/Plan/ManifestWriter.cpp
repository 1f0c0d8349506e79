//===- ManifestWriter.cpp - The JSON part of a plan, writing --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "sccl/Plan/Plan.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::plan;

llvm::StringRef plan::pathName(Path path) {
  switch (path) {
  case Path::Auto:
    return "auto";
  case Path::Direct:
    return "direct";
  case Path::Staging:
    return "staging";
  }
  return "";
}

std::optional<Path> plan::parsePath(llvm::StringRef name) {
  for (Path path : {Path::Auto, Path::Direct, Path::Staging})
    if (name == pathName(path))
      return path;
  return std::nullopt;
}

namespace {
template <typename T, typename Write>
json::Array writeList(llvm::ArrayRef<T> items, Write write) {
  json::Array array;
  for (const T &item : items)
    array.push_back(write(item));
  return array;
}

json::Value writeLayout(const RankLayout &layout) {
  json::Object object{{"inputSegments", layout.inputSegments},
                      {"outputSegments", layout.outputSegments}};
  if (layout.inPlaceOffset)
    object["inPlaceOffset"] = *layout.inPlaceOffset;
  return object;
}

json::Value writeConditions(const Conditions &conditions) {
  return json::Object{{"chunks", conditions.chunks},
                      {"distinct", conditions.distinct}};
}

json::Array writeChunks(llvm::ArrayRef<std::vector<unsigned>> ranks) {
  return writeList<std::vector<unsigned>>(
      ranks,
      [](const std::vector<unsigned> &chunks) { return json::Array(chunks); });
}

json::Value writeSchedule(const ScheduleInfo &schedule) {
  return json::Object{{"name", schedule.name},
                      {"chunks", schedule.chunks},
                      {"chunksPerSegment", schedule.chunksPerSegment},
                      {"steps", schedule.steps},
                      {"rounds", schedule.rounds},
                      {"cost", schedule.cost}};
}

json::Value writeNeeds(const RankNeeds &needs) {
  return json::Object{{"channels", needs.channels},
                      {"scratchSlots", needs.scratchSlots},
                      {"controlBytes", int64_t(needs.controlBytes)}};
}

json::Value writeCopy(unsigned step, const EngineCopy &copy) {
  return json::Object{{"step", step},
                      {"executor", copy.executor},
                      {"srcRank", copy.srcRank},
                      {"srcBuffer", copy.srcBuffer},
                      {"srcSlot", copy.srcSlot},
                      {"dstRank", copy.dstRank},
                      {"dstBuffer", copy.dstBuffer},
                      {"dstSlot", copy.dstSlot},
                      {"position", copy.position},
                      {"count", copy.count}};
}

json::Value writeProgram(const ProgramEntry &program) {
  json::Object object{{"schedule", program.schedule},
                      {"variant", program.variant},
                      {"codeShape", program.codeShape},
                      {"blocks", program.blocks},
                      {"peersReadInput", program.peersReadInput},
                      {"peersTouchOutput", program.peersTouchOutput},
                      {"inPlace", program.inPlace},
                      {"announcesReady", program.announcesReady},
                      {"steps", program.steps},
                      {"chunksMoved", int64_t(program.chunksMoved)},
                      {"largestTransfer", int64_t(program.largestTransfer)},
                      {"transfersAtOnce", program.transfersAtOnce}};
  if (program.stepsTouchPeers)
    object["stepsTouchPeers"] = true;
  if (!program.switchGroups.empty())
    object["switchGroups"] = json::Array(program.switchGroups);
  if (program.source)
    object["source"] = json::Object{{"blob", program.source->blob},
                                    {"schedule", program.source->schedule},
                                    {"way", program.source->way}};
  return object;
}

json::Value writeKernel(const KernelInfo &kernel) {
  json::Object object{{"program", kernel.program},
                      {"target", kernel.target},
                      {"format", kernel.format},
                      {"element", kernel.element},
                      {"reduction", kernel.reduction},
                      {"blockSize", kernel.blockSize},
                      {"symbols", json::Array(kernel.symbols)},
                      {"virtualSymbol", kernel.virtualSymbol},
                      {"blob", kernel.blob}};
  if (kernel.rankTables)
    object["rankTables"] = *kernel.rankTables;
  return object;
}

json::Value writeChoice(const SizeChoice &choice) {
  return json::Object{{"firstByte", int64_t(choice.firstByte)},
                      {"program", choice.program},
                      {"path", pathName(choice.path)},
                      {"pieceBytes", int64_t(choice.pieceBytes)}};
}

json::Value writeTime(const SizedTime &time) {
  json::Object object{{"bytes", int64_t(time.bytes)},
                      {"nanoseconds", int64_t(time.nanoseconds)}};
  if (time.bound)
    object["bound"] = int64_t(time.bound);
  return object;
}

json::Value writeTable(const SizeTable &table) {
  json::Object object{
      {"source", table.source},
      {"target", table.target},
      {"ranksAs", table.ranksAs},
      {"choices", writeList<SizeChoice>(table.choices, writeChoice)}};
  if (!table.times.empty())
    object["times"] = writeList<SizedTime>(table.times, writeTime);
  return object;
}
/// Adds what is stored in the index and in the parts of ranks.
void addRanks(json::Object &object, const Manifest &manifest) {
  object["layout"] = writeList<RankLayout>(manifest.layout, writeLayout);
  json::Array &programs = *object.getArray("programs");
  for (auto [index, program] : llvm::enumerate(manifest.programs)) {
    json::Object &entry = *programs[index].getAsObject();
    entry["ranks"] = writeList<RankNeeds>(program.ranks, writeNeeds);
    json::Array copies;
    for (unsigned step = 0; step < program.copies.size(); ++step)
      for (const EngineCopy &copy : program.copies[step])
        copies.push_back(writeCopy(step, copy));
    entry["copies"] = std::move(copies);
  }
  if (!manifest.conditions)
    return;
  json::Object &conditions = *object.getObject("conditions");
  conditions["pre"] = writeChunks(manifest.conditions->pre);
  conditions["post"] = writeChunks(manifest.conditions->post);
}
} // namespace

std::string plan::manifestText(const Manifest &manifest,
                               llvm::ArrayRef<BlobRange> blobs,
                               RankDetail detail) {
  json::Object object{
      {"generator", manifest.generator},
      {"collective", manifest.collective},
      {"ranks", manifest.ranks},
      {"root", manifest.root},
      {"combining", manifest.combining},
      {"sendSegments", manifest.sendSegments},
      {"topology", json::Object{{"name", manifest.topology},
                                {"fingerprint", manifest.fingerprint}}},
      {"schedules", writeList<ScheduleInfo>(manifest.schedules, writeSchedule)},
      {"programs", writeList<ProgramEntry>(manifest.programs, writeProgram)},
      {"kernels", writeList<KernelInfo>(manifest.kernels, writeKernel)},
      {"rankTables", manifest.rankTables},
      {"tables", writeList<SizeTable>(manifest.tables, writeTable)},
      {"blobs", writeList<BlobRange>(blobs, [](const BlobRange &blob) {
         return json::Value(json::Object{{"offset", int64_t(blob.offset)},
                                         {"bytes", int64_t(blob.bytes)},
                                         {"sha256", blob.hash}});
       })}};
  if (manifest.sumOrder != "any")
    object["sumOrder"] = manifest.sumOrder;
  if (manifest.oneRounding)
    object["oneRounding"] = true;
  if (manifest.sumsInF32)
    object["wire"] = "f32";
  if (manifest.conditions)
    object["conditions"] = writeConditions(*manifest.conditions);
  if (detail == RankDetail::All)
    addRanks(object, manifest);
  std::string text;
  json::Value(std::move(object)).print(text);
  return text;
}
