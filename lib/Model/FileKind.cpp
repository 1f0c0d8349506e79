//===- FileKind.cpp - Recognizing files by content ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/FileKind.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <utility>

using namespace sccl;

namespace {
struct KindText {
  FileKind kind;
  std::string_view name, use;
};
} // namespace

static constexpr KindText texts[] = {
    {FileKind::Unknown, "no file that is known", "no subcommand takes it"},
    {FileKind::Machine, "what a tool prints of a machine",
     "'sccl machine --import' and 'sccl plan --import' take it"},
    {FileKind::Plan, "a plan of sccl",
     "'sccl run', 'bench', 'simulate' and 'explain' take it, named *.sccl"},
    {FileKind::Mlir, "MLIR",
     "'sccl machine', 'check', 'run', 'compile' and 'simulate' take it"},
    {FileKind::Certificate, "a certificate",
     "'sccl check SCHEDULE --certificate=' takes it"},
    {FileKind::Ptx, "PTX", "'sccl check' takes it, named *.ptx"},
    {FileKind::Gcn, "assembly of AMD's GPUs",
     "'sccl check' takes it, named *.s"},
    {FileKind::Object, "an object file", "no subcommand takes it"},
    {FileKind::Msccl, "an algorithm of MSCCL",
     "subcommands that take schedules take it, named *.xml"},
    {FileKind::Mscclpp, "a plan of MSCCL++",
     "subcommands that take schedules take it, named *.json"},
    {FileKind::Teccl, "a schedule of TE-CCL",
     "subcommands that take schedules take it, named *.json"},
    {FileKind::Forest, "trees of ForestColl",
     "subcommands that take schedules take it, named *.xml"},
    {FileKind::NcclGraph, "a graph that NCCL chose (NCCL_GRAPH_DUMP_FILE)",
     "'sccl plan --baselines=' takes it"},
    {FileKind::Chakra, "a Chakra trace",
     "ASTRA-sim takes it, and no subcommand"},
    {FileKind::Fabric, "what ibnetdiscover prints",
     "it says how boxes are cabled and not what they are, and no subcommand "
     "takes it"},
    {FileKind::Timeline, "a trace of events", "ui.perfetto.dev shows it"},
    {FileKind::Page, "a page of HTML", "a browser shows it"},
    {FileKind::Compressed, "compressed", "unpack it first"},
    {FileKind::Utf16, "text in UTF-16", "save it as UTF-8"},
    {FileKind::Binary, "binary, or text in UTF-16",
     "if it is text, save it as UTF-8"},
};

std::string_view sccl::nameOf(FileKind kind) {
  return std::ranges::find(texts, kind, &KindText::kind)->name;
}
std::string_view sccl::useOf(FileKind kind) {
  return std::ranges::find(texts, kind, &KindText::kind)->use;
}

using Mark = std::pair<std::string_view, FileKind>;

static FileKind firstMark(std::string_view text,
                          std::initializer_list<Mark> marks,
                          bool (*fits)(std::string_view, std::string_view)) {
  for (auto [mark, kind] : marks)
    if (fits(text, mark))
      return kind;
  return FileKind::Unknown;
}
static bool begins(std::string_view text, std::string_view mark) {
  return text.starts_with(mark);
}
static bool holds(std::string_view text, std::string_view mark) {
  return text.find(mark) != std::string_view::npos;
}

static std::string_view trimmed(std::string_view text) {
  auto start = std::ranges::find_if_not(
      text, [](unsigned char c) { return std::isspace(c); });
  return text.substr(size_t(start - text.begin()));
}

/// Length-delimited messages, of which the first has a version of digits or of
/// a schema: see Chakra's et_def.proto.
static bool isChakra(std::string_view text) {
  auto varint = [](std::string_view &rest) -> size_t {
    size_t value = 0;
    for (unsigned shift = 0; !rest.empty() && shift < 28; shift += 7) {
      auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= size_t(byte & 127) << shift;
      if (byte < 128)
        return value;
    }
    return 0;
  };
  size_t head = varint(text);
  if (head < 2 || text.empty())
    return false;
  char field = text.front(); // 1: version, 2: attributes; both have a length
  text.remove_prefix(1);
  size_t length = varint(text);
  if (length == 0 || length > head || length > text.size())
    return false;
  std::string_view content = text.substr(0, length);
  return field == 10 ? content.find_first_not_of("0123456789.") ==
                           std::string_view::npos
         : field == 18 ? holds(content, "schema")
                       : false;
}

static FileKind recognizeBinary(std::string_view text) {
  using enum FileKind;
  if (FileKind kind = firstMark(text,
                                {{"SCCLPLAN", Plan},
                                 {"ML\xef"
                                  "R",
                                  Mlir},
                                 {"\x7f"
                                  "ELF",
                                  Object},
                                 {"PK\x03\x04", Compressed},
                                 {"\x1f\x8b", Compressed},
                                 {"\xfd"
                                  "7zXZ",
                                  Compressed},
                                 {"\x28\xb5\x2f\xfd", Compressed},
                                 {"\xff\xfe", Utf16},
                                 {"\xfe\xff", Utf16}},
                                &begins);
      kind != Unknown)
    return kind;
  if (isChakra(text))
    return Chakra;
  return holds(text, std::string_view("\0", 1)) ? Binary : Unknown;
}

/// The text behind comments and declarations.
static std::string_view behindProlog(std::string_view text) {
  for (text = trimmed(text); text.starts_with("<!--") || text.starts_with("<?");
       text = trimmed(text)) {
    std::string_view end = text.starts_with("<!--") ? "-->" : "?>";
    size_t at = text.find(end);
    text = at == text.npos ? "" : text.substr(at + end.size());
  }
  return text;
}

static FileKind recognizeXml(std::string_view text) {
  using enum FileKind;
  text = behindProlog(text);
  if (holds(text.substr(0, 1 << 12), "<tree "))
    return Forest;
  return firstMark(text,
                   {{"<algo ", Msccl},
                    {"<graphs", NcclGraph},
                    {"<!DOCTYPE html", Page},
                    {"<!doctype html", Page},
                    {"<html", Page}},
                   &begins);
}

/// By the first line that is no comment.
static FileKind recognizeLines(std::string_view text) {
  using enum FileKind;
  std::string_view head = text.substr(0, 1 << 12);
  if (holds(head, "\nvendid=0x") || text.starts_with("vendid=0x") ||
      holds(head, "\nSwitch\t"))
    return Fabric;
  while (text.starts_with("//")) {
    size_t end = text.find('\n');
    text = end == text.npos ? "" : trimmed(text.substr(end));
  }
  return firstMark(text,
                   {{"sccl-certificate ", Certificate},
                    {".version ", Ptx},
                    {".amdgcn_target", Gcn},
                    {"coll.", Mlir},
                    {"collk.", Mlir},
                    {"module ", Mlir},
                    {"builtin.module", Mlir},
                    {"\"builtin.module\"", Mlir},
                    {"gpu.module", Mlir},
                    {"llvm.", Mlir},
                    {"func.func", Mlir}},
                   &begins);
}

FileKind sccl::recognizeFile(std::string_view text) {
  using enum FileKind;
  if (FileKind kind = recognizeBinary(text); kind != Unknown)
    return kind;
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);
  text = trimmed(text);
  if (text.starts_with('<'))
    return recognizeXml(text);
  if (text.starts_with('{') || text.starts_with('['))
    return firstMark(text,
                     {{"\"1-Epoch_Duration\"", Teccl},
                      {"\"7-Flows\"", Teccl},
                      {"\"threadblocks\"", Mscclpp},
                      {"\"traceEvents\"", Timeline}},
                     &holds);
  return recognizeLines(text);
}
