//===- Yaml.cpp - YAML as a tree with places ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Yaml.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

const YamlNode *YamlNode::find(StringRef key) const {
  auto name = llvm::find(names, key);
  return name == names.end() ? nullptr : &items[name - names.begin()];
}

StringRef YamlNode::text(StringRef key) const {
  const YamlNode *value = find(key);
  return value ? StringRef(value->scalar) : StringRef();
}

const std::vector<YamlNode> &YamlNode::list(StringRef key) const {
  static const std::vector<YamlNode> none;
  const YamlNode *value = find(key);
  return value && !value->isMap() ? value->items : none;
}

namespace {
class TreeBuilder {
public:
  explicit TreeBuilder(const ImportFile &file) : file(file) {}
  Result<YamlNode> run();

private:
  bool convert(llvm::yaml::Node *node, YamlNode &to, unsigned depth);
  bool convertMapping(llvm::yaml::MappingNode &node, YamlNode &to,
                      unsigned depth);
  bool fail(Place place, const llvm::Twine &message) {
    if (problem.message.empty())
      problem = errorAt(file.path, place, message);
    return false;
  }
  Place placeOf(llvm::SMRange range) const {
    const char *at = range.Start.getPointer();
    const char *begin = file.text.data();
    bool isInside = at >= begin && at <= begin + file.text.size();
    return isInside ? placeAt(file.text, at - begin) : Place();
  }

  const ImportFile &file;
  Error problem;
  llvm::SourceMgr sources;
};
} // namespace

/// More levels than any file of a machine has; the parser recurses.
static constexpr unsigned maxDepth = 64;

bool TreeBuilder::convertMapping(llvm::yaml::MappingNode &node, YamlNode &to,
                                 unsigned depth) {
  for (llvm::yaml::KeyValueNode &entry : node) {
    auto *key = llvm::dyn_cast_or_null<llvm::yaml::ScalarNode>(entry.getKey());
    if (!key)
      return fail(to.place, "a key that is no word");
    llvm::SmallString<32> storage;
    std::string name = key->getValue(storage).str();
    to.names.push_back(std::move(name));
    to.items.emplace_back();
    if (!convert(entry.getValue(), to.items.back(), depth + 1))
      return false;
  }
  return true;
}

bool TreeBuilder::convert(llvm::yaml::Node *node, YamlNode &to,
                          unsigned depth) {
  to.path = &file.path;
  if (!node)
    return fail({}, "no YAML");
  to.place = placeOf(node->getSourceRange());
  if (depth > maxDepth)
    return fail(to.place,
                "nested deeper than " + llvm::Twine(maxDepth) + " levels");
  if (auto *scalar = llvm::dyn_cast<llvm::yaml::ScalarNode>(node)) {
    llvm::SmallString<64> storage;
    to.scalar = scalar->getValue(storage).str();
  } else if (auto *block = llvm::dyn_cast<llvm::yaml::BlockScalarNode>(node)) {
    to.scalar = block->getValue().str();
  } else if (auto *mapping = llvm::dyn_cast<llvm::yaml::MappingNode>(node)) {
    return convertMapping(*mapping, to, depth);
  } else if (auto *list = llvm::dyn_cast<llvm::yaml::SequenceNode>(node)) {
    for (llvm::yaml::Node &item : *list) {
      to.items.emplace_back();
      if (!convert(&item, to.items.back(), depth + 1))
        return false;
    }
  } else if (llvm::isa<llvm::yaml::AliasNode>(node)) {
    return fail(to.place, "aliases of YAML are not read; write it out");
  }
  return true;
}

Result<YamlNode> TreeBuilder::run() {
  if (std::optional<Error> error = checkDepth(file, /*isYaml=*/true))
    return *error;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *self) {
        auto line = unsigned(std::max(diagnostic.getLineNo(), 1));
        auto column = unsigned(std::max(diagnostic.getColumnNo(), 0)) + 1;
        static_cast<TreeBuilder *>(self)->fail(
            {line, column}, "no YAML: " + diagnostic.getMessage());
      },
      this);
  llvm::yaml::Stream stream(file.text, sources, /*ShowColors=*/false);
  YamlNode tree;
  auto document = stream.begin();
  bool isRead = document != stream.end() &&
                convert(document->getRoot(), tree, 0) && !stream.failed();
  if (!isRead || !problem.message.empty()) {
    fail({}, "no YAML");
    return problem;
  }
  return tree;
}

Result<YamlNode> import::parseYaml(const ImportFile &file) {
  return TreeBuilder(file).run();
}
