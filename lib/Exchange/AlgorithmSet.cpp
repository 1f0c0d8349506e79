//===- AlgorithmSet.cpp - Sets as text ------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/AlgorithmSet.h"

#include "CallLayout.h"
#include "EmittedCode.h"
#include "Json.h"

#include "Check/Hash.h"

#include <algorithm>
#include <array>
#include <cctype>

using namespace sccl;
using namespace sccl::exchange;

static constexpr std::array<std::string_view, 3> executorNames = {
    "mscclpp", "nccl", "rccl"};

std::string_view exchange::setExecutorName(SetExecutor executor) {
  return executorNames[size_t(executor)];
}

bool AlgorithmSet::isShared() const {
  return Call{kind, ranks, 0, 0, false}.isShared();
}

std::string_view AlgorithmSet::folder() const {
  return executor == SetExecutor::Mscclpp ? "plans" : "algorithms";
}

std::string_view AlgorithmSet::loader() const {
  return executor == SetExecutor::Mscclpp ? "register.cpp" : "env.sh";
}

std::string exchange::hashOfText(std::string_view text) {
  return hexText(hashOf(text));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Json::Value toJson(const SetFile &file) {
  Json::Value value;
  value["file"] = file.path;
  value["name"] = file.name;
  value["hash"] = file.hash;
  value["least_bytes"] = Json::UInt64(file.least);
  value["most_bytes"] = Json::UInt64(file.most);
  value["in_place"] = file.inPlace;
  value["out_of_place"] = file.outOfPlace;
  value["multiple"] = Json::UInt64(file.multiple);
  value["program"] = file.program;
  value["least_nanoseconds"] = Json::UInt64(file.leastNanoseconds);
  value["most_nanoseconds"] = Json::UInt64(file.mostNanoseconds);
  value["notes"] = Json::Value(Json::arrayValue);
  for (const std::string &note : file.notes)
    value["notes"].append(note);
  return value;
}

static Json::Value toJson(const SetGap &gap) {
  Json::Value value;
  value["least_bytes"] = Json::UInt64(gap.least);
  value["most_bytes"] = Json::UInt64(gap.most);
  value["in_place"] = gap.inPlace;
  value["reason"] = gap.reason;
  return value;
}

std::string exchange::printSet(const AlgorithmSet &set) {
  Json::Value root;
  root["sccl_set"] = 1;
  root["executor"] = std::string(setExecutorName(set.executor));
  root["collective"] = std::string(collectiveName(set.kind));
  root["ranks"] = set.ranks;
  root["ranks_per_box"] = set.ranksPerBox;
  root["least_bytes"] = Json::UInt64(set.least);
  root["most_bytes"] = Json::UInt64(set.most);
  root["files"] = Json::Value(Json::arrayValue);
  for (const SetFile &file : set.files)
    root["files"].append(toJson(file));
  root["gaps"] = Json::Value(Json::arrayValue);
  for (const SetGap &gap : set.gaps)
    root["gaps"].append(toJson(gap));
  Json::StreamWriterBuilder builder;
  builder["indentation"] = " ";
  return Json::writeString(builder, root) + "\n";
}

/// "AllReduce" of "all_reduce".
static std::string capitalized(std::string_view words) {
  std::string text;
  bool isFirst = true;
  for (char c : words) {
    if (c != '_')
      text += isFirst ? char(std::toupper(c)) : c;
    isFirst = c == '_';
  }
  return text;
}

std::string exchange::loaderText(const AlgorithmSet &set) {
  if (set.executor != SetExecutor::Mscclpp)
    return emitted::mscclEnvironment();
  std::string words(collectiveName(set.kind)), spelling = words;
  std::erase(spelling, '_');
  std::string text = emitted::mscclppRegister();
  text += "/// `folder` is the one that this file was written into.\n"
          "void register" +
          capitalized(words) + "Of" + std::to_string(set.ranks) +
          "(const std::string &folder, int rank, int worldSize,\n"
          "    int ranksPerNode) {\n"
          "  sccl_sets::Set set{\"" +
          spelling + "\", " + (set.isShared() ? "true" : "false") + ", " +
          std::to_string(set.ranks) + ", " + std::to_string(set.ranksPerBox) +
          ", {}};\n"
          "  set.plans = {\n";
  for (const SetFile &file : set.files)
    text += "      {\"" + file.path + "\", \"" + file.name + "\",\n       " +
            std::to_string(file.least) + "u, " + std::to_string(file.most) +
            "u, " + std::to_string(file.multiple) + ", " +
            (file.inPlace ? "true" : "false") + "},\n";
  text += "  };\n"
          "  sccl_sets::registerSet(set, folder, rank, worldSize, "
          "ranksPerNode);\n"
          "}\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class SetReader {
public:
  SetReader(std::string_view text, Findings &findings)
      : json(text, findings), findings(findings) {}
  std::optional<AlgorithmSet> read();

private:
  static constexpr uint64_t mostBytes = uint64_t(1) << 62;

  uint64_t bytes(const Json::Value &object, const char *name) {
    return json.number(object, name, mostBytes);
  }
  std::string path(const Json::Value &object, const AlgorithmSet &set);
  SetFile readFile(const Json::Value &value, const AlgorithmSet &set);
  SetGap readGap(const Json::Value &value);
  SetExecutor readExecutor(const Json::Value &root);
  CollectiveKind readKind(const Json::Value &root);

  JsonReader json;
  Findings &findings;
};
} // namespace

/// A name in the folder of the files, so that nothing else is read.
std::string SetReader::path(const Json::Value &object,
                            const AlgorithmSet &set) {
  std::string path = json.text(object, "file");
  std::string folder = std::string(set.folder()) + "/";
  bool isSafe = path.starts_with(folder) && path.size() > folder.size() &&
                std::ranges::all_of(path.substr(folder.size()), [](char c) {
                  return std::isalnum((unsigned char)c) || c == '_' ||
                         c == '.' || c == '-';
                });
  if (!isSafe)
    json.complain(object,
                  "\"file\" is \"" + path + "\", expected a name in " + folder);
  return path;
}

SetFile SetReader::readFile(const Json::Value &value, const AlgorithmSet &set) {
  SetFile file{json.placeOf(value),
               path(value, set),
               json.text(value, "name"),
               json.text(value, "hash"),
               bytes(value, "least_bytes"),
               bytes(value, "most_bytes"),
               json.flagOr(value, "in_place", false),
               json.flagOr(value, "out_of_place", false),
               bytes(value, "multiple"),
               json.text(value, "program"),
               bytes(value, "least_nanoseconds"),
               bytes(value, "most_nanoseconds"),
               {}};
  for (const Json::Value &note : json.listOrNone(value, "notes"))
    if (note.isString())
      file.notes.push_back(note.asString());
  return file;
}

SetGap SetReader::readGap(const Json::Value &value) {
  SetGap gap{json.placeOf(value), bytes(value, "least_bytes"),
             bytes(value, "most_bytes"), json.flagOr(value, "in_place", false),
             json.text(value, "reason")};
  if (gap.reason.empty())
    json.complain(value, "calls that no file is for need a reason");
  return gap;
}

SetExecutor SetReader::readExecutor(const Json::Value &root) {
  std::string name = json.text(root, "executor");
  auto found = std::ranges::find(executorNames, name);
  if (found != executorNames.end())
    return SetExecutor(found - executorNames.begin());
  json.complain(root, "\"executor\" is \"" + name +
                          "\", expected mscclpp, nccl or rccl");
  return SetExecutor::Mscclpp;
}

CollectiveKind SetReader::readKind(const Json::Value &root) {
  std::string name = json.text(root, "collective");
  if (auto kind = parseCollectiveName(name))
    return *kind;
  json.complain(root, "there is no collective '" + name + "'");
  return CollectiveKind::AllReduce;
}

std::optional<AlgorithmSet> SetReader::read() {
  Json::Value root = json.parse();
  if (!findings.empty())
    return std::nullopt;
  json.number(json.field(root, "sccl_set"), "sccl_set", 1, 1);
  if (!findings.empty())
    return std::nullopt;
  constexpr uint64_t mostRanks = 1 << 16;
  AlgorithmSet set{
      readExecutor(root),
      readKind(root),
      unsigned(json.number(json.field(root, "ranks"), "ranks", 1, mostRanks)),
      unsigned(json.number(json.field(root, "ranks_per_box"), "ranks_per_box",
                           1, mostRanks)),
      bytes(root, "least_bytes"),
      bytes(root, "most_bytes"),
      {},
      {}};
  for (const Json::Value &value : json.list(root, "files"))
    set.files.push_back(readFile(value, set));
  for (const Json::Value &value : json.list(root, "gaps"))
    set.gaps.push_back(readGap(value));
  if (!findings.empty())
    return std::nullopt;
  return set;
}

std::optional<AlgorithmSet> exchange::parseSet(std::string_view text,
                                               Findings &findings) {
  return SetReader(text, findings).read();
}
