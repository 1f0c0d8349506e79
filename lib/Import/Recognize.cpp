//===- Recognize.cpp - What a file is -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclLog.h"
#include "TopoMatrix.h"

#include "sccl/Model/FileKind.h"

#include "llvm/ADT/StringExtras.h"

#include <utility>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

static constexpr std::pair<ImportFormat, const char *> names[] = {
    {ImportFormat::NcclXml, "nccl-xml"},
    {ImportFormat::NcclLog, "nccl-log"},
    {ImportFormat::TopoMatrix, "topo-m"},
    {ImportFormat::NvlinkStatus, "nvlink-s"},
    {ImportFormat::NvidiaSmiXml, "smi-xml"},
    {ImportFormat::RocmSmi, "rocm-smi"},
    {ImportFormat::AmdSmi, "amd-smi"},
    {ImportFormat::AmdSmiJson, "amd-smi-json"},
    {ImportFormat::AmdXgmi, "amd-xgmi"},
    {ImportFormat::HwlocXml, "hwloc-xml"},
    {ImportFormat::Taccl, "taccl"},
    {ImportFormat::TeCcl, "te-ccl"},
    {ImportFormat::InfraGraph, "infragraph"},
};

std::optional<ImportFormat> sccl::parseImportFormat(StringRef name) {
  for (auto [format, known] : names)
    if (name == known)
      return format;
  return std::nullopt;
}

std::string sccl::importFormatNames() {
  std::string text;
  for (auto [format, name] : names)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

/// The name of the first element of XML, without comments and declarations.
static StringRef rootElement(StringRef text) {
  while (true) {
    text = text.ltrim();
    if (text.consume_front("<!--")) {
      size_t end = text.find("-->");
      text = end == text.npos ? "" : text.substr(end + 3);
    } else if (text.starts_with("<?") || text.starts_with("<!")) {
      // A DOCTYPE may have declarations in brackets.
      size_t end = text.find('>');
      if (text.find('[') < end)
        end = text.find('>', text.find(']'));
      text = end == text.npos ? "" : text.substr(end + 1);
    } else {
      break;
    }
  }
  if (!text.consume_front("<"))
    return "";
  return text.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-'; });
}

static Error unrecognized(const ImportFile &file, const std::string &what) {
  return errorAt(file.path, {},
                 what + "; formats are: " + importFormatNames() +
                     " (--format)");
}

static Result<ImportFormat> recognizeXml(const ImportFile &file,
                                         StringRef text) {
  StringRef root = rootElement(text);
  if (root == "system")
    return ImportFormat::NcclXml;
  if (root == "topology")
    return ImportFormat::HwlocXml;
  if (root == "nvidia_smi_log")
    return ImportFormat::NvidiaSmiXml;
  if (root.empty())
    return unrecognized(file, "this begins like XML, and has no element");
  return unrecognized(file, ("this is XML with an element <" +
                             root.substr(0, 40) + ">, which no reader knows")
                                .str());
}

static Result<ImportFormat> recognizeJson(const ImportFile &file) {
  StringRef text = file.text;
  for (auto [mark, format] :
       {std::pair("\"TopologyParams\"", ImportFormat::TeCcl),
        {"\"node_betas_list\"", ImportFormat::Taccl},
        {"\"gpus_per_node\"", ImportFormat::Taccl},
        {"\"intranode_sketch\"", ImportFormat::Taccl},
        {"\"(Topology) ", ImportFormat::RocmSmi},
        {"\"link_metrics\"", ImportFormat::AmdXgmi},
        {"\"link_type\"", ImportFormat::AmdSmiJson},
        {"\"link_accessibility\"", ImportFormat::AmdSmiJson},
        {"\"link_status\"", ImportFormat::AmdSmiJson},
        // Of any of the tables of amd-smi topology.
        {"\"bdf\"", ImportFormat::AmdSmiJson},
        {"\"infrastructure\"", ImportFormat::InfraGraph},
        {"\"devices\"", ImportFormat::InfraGraph},
        {"\"instances\"", ImportFormat::InfraGraph},
        {"\"components\"", ImportFormat::InfraGraph}})
    if (text.contains(mark))
      return format;
  return unrecognized(file, "this begins like JSON of no known kind");
}

/// True if some line begins with one of YAML's keys of InfraGraph.
static bool looksLikeInfraGraph(StringRef text) {
  for (StringRef line : llvm::split(text, '\n'))
    for (StringRef key : {"infrastructure:", "devices:", "device:",
                          "instances:", "components:"})
      if (line.starts_with(key))
        return true;
  return false;
}

static Result<ImportFormat> recognizeText(const ImportFile &file) {
  bool hasGpuLine = false, hasUuid = false;
  unsigned numLines = 0;
  for (const Line &line : splitLines(file.text)) {
    if (++numLines > 100000)
      break;
    StringRef text = StringRef(line.text).trim();
    if (text.contains("NCCL INFO ") || beginsSystem(text))
      return ImportFormat::NcclLog;
    std::string lower = text.lower();
    StringRef small = lower;
    if (small.contains("rocm system management") ||
        small.contains("between two gpus"))
      return ImportFormat::RocmSmi;
    if (small.contains("link metric table:") ||
        small.contains("xgmi link status:"))
      return ImportFormat::AmdXgmi;
    for (StringRef table :
         {"access", "weight", "hops", "link type", "numa bw", "coherancy",
          "coherency", "atomics", "dma", "bi-directional"})
      if (small.ends_with((table + " table:").str()))
        return ImportFormat::AmdSmi;
    hasGpuLine |= small.starts_with("gpu ") && text.contains(':');
    hasUuid |= hasGpuLine && small.contains("uuid: gpu-");
    if (hasGpuLine && small.starts_with("link "))
      return ImportFormat::NvlinkStatus;
    std::vector<Word> words = matrixWords(line);
    if (!words.empty() && words[0].text == "GPU0")
      return ImportFormat::TopoMatrix;
    if (words.size() > 1 && numberAfter("GPU", words[0].text) &&
        (words[1].text == "X" || numberAfter("GPU", words[1].text)))
      return ImportFormat::TopoMatrix;
  }
  // nvlink -s of GPUs that have no links.
  if (hasUuid)
    return ImportFormat::NvlinkStatus;
  if (looksLikeInfraGraph(file.text))
    return ImportFormat::InfraGraph;
  return unrecognized(file, "no reader knows what this is");
}

Result<ImportFormat> sccl::recognizeFormat(const ImportFile &file) {
  StringRef text = file.text;
  text.consume_front("\xef\xbb\xbf");
  if (text.trim().empty())
    return errorAt(file.path, {}, "the file is empty");
  if (FileKind kind = recognizeFile({file.text});
      kind != FileKind::Unknown && kind != FileKind::Binary)
    return errorAt(file.path, {},
                   "this is " + std::string(nameOf(kind)) + "; " +
                       std::string(useOf(kind)));
  if (text.contains('\0'))
    return errorAt(file.path, placeAt(file.text, file.text.find('\0')),
                   "a byte 0: the file is binary, or text in UTF-16; save it "
                   "as UTF-8");
  text = text.ltrim();
  if (text.starts_with("<"))
    return recognizeXml(file, text);
  // Tools write "[1,0]<stdout>:" before lines of logs, and NCCL a time.
  bool isLog =
      text.take_until([](char c) { return c == '\n'; }).contains(" NCCL ");
  if (!isLog && (text.starts_with("{") || text.starts_with("[")))
    return recognizeJson(file);
  return recognizeText(file);
}

static Result<Reading> readOne(const ImportFile &file, ImportFormat format) {
  switch (format) {
  case ImportFormat::NcclXml:
    return readNcclXml(file);
  case ImportFormat::TopoMatrix:
    return readTopoMatrix(file);
  case ImportFormat::NvlinkStatus:
    return readNvlinkStatus(file);
  case ImportFormat::NvidiaSmiXml:
    return readNvidiaSmiXml(file);
  case ImportFormat::RocmSmi:
    if (StringRef(file.text).ltrim("\xef\xbb\xbf \t\r\n").starts_with("{"))
      return readRocmSmiJson(file);
    return readSmiTables(file, format);
  case ImportFormat::AmdSmi:
    return readSmiTables(file, format);
  case ImportFormat::AmdSmiJson:
    return readAmdSmiJson(file);
  case ImportFormat::AmdXgmi:
    return readAmdXgmi(file);
  case ImportFormat::HwlocXml:
    return readHwlocXml(file);
  case ImportFormat::Taccl:
    return readTaccl(file);
  case ImportFormat::TeCcl:
    return readTeCcl(file);
  case ImportFormat::NcclLog:
  case ImportFormat::InfraGraph:
    break;
  }
  return Error{"files of InfraGraph are read together, and logs have several"};
}

/// A box needs GPUs.
static std::optional<Error> checkGpus(const Reading &reading) {
  if (!reading.numGpus || *reading.numGpus > 0)
    return std::nullopt;
  return errorAt(reading.path, {},
                 "there are " + llvm::Twine(reading.numNics.value_or(0)) +
                     " NICs and no GPU in this file; is it of the right host?");
}

static bool isEmpty(const ImportFile &file) {
  return StringRef(file.text).trim().empty();
}

/// The readings of a log, one for each host.
static std::optional<Error> addLog(const ImportFile &file,
                                   std::vector<Reading> &readings) {
  Result<std::vector<Reading>> hosts = readNcclLog(file);
  if (!hosts)
    return Error{hosts.error()};
  for (Reading &host : *hosts) {
    if (std::optional<Error> error = checkGpus(host))
      return error;
    readings.push_back(std::move(host));
  }
  return std::nullopt;
}

/// The reading of a file, and of what else is in it: the tables of amd-smi
/// topology and of amd-smi xgmi may be one below the other.
static std::optional<Error> addReadings(const ImportFile &file,
                                        ImportFormat format,
                                        std::vector<Reading> &readings) {
  if (format == ImportFormat::NcclLog)
    return addLog(file, readings);
  Result<Reading> reading = readOne(file, format);
  if (!reading)
    return Error{reading.error()};
  if (std::optional<Error> error = checkGpus(*reading))
    return error;
  readings.push_back(std::move(*reading));
  StringRef text = file.text;
  bool hasXgmi =
      format == ImportFormat::AmdSmi &&
      (text.contains("LINK METRIC TABLE") || text.contains("XGMI LINK STATUS"));
  return hasXgmi ? addReadings(file, ImportFormat::AmdXgmi, readings)
                 : std::nullopt;
}

Result<std::vector<Reading>>
sccl::readFiles(const std::vector<ImportFile> &files,
                const ImportOptions &options) {
  std::vector<Reading> readings;
  std::vector<const ImportFile *> infraGraph;
  std::vector<std::string> left;
  bool isAllEmpty = llvm::all_of(files, isEmpty);
  for (const ImportFile &file : files) {
    // nvidia-smi nvlink -s prints nothing where there is no NVLink.
    if (!isAllEmpty && isEmpty(file)) {
      left.push_back(file.path + " is empty: left out");
      continue;
    }
    Result<ImportFormat> format = options.format
                                      ? Result<ImportFormat>(*options.format)
                                      : recognizeFormat(file);
    if (!format)
      return Error{format.error()};
    if (*format == ImportFormat::InfraGraph) {
      infraGraph.push_back(&file);
      continue;
    }
    if (std::optional<Error> error = addReadings(file, *format, readings))
      return *error;
  }
  if (!infraGraph.empty()) {
    Result<Reading> reading = readInfraGraph(infraGraph, options);
    if (!reading)
      return Error{reading.error()};
    readings.push_back(std::move(*reading));
  }
  if (!readings.empty())
    llvm::append_range(readings.front().warnings, left);
  return readings;
}
