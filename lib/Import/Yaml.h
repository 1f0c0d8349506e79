//===- Yaml.h - YAML as a tree with places ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_YAML_H
#define SCCL_LIB_IMPORT_YAML_H

#include "Text.h"

namespace sccl::import {

/// A scalar, a list or a map of YAML or JSON.
struct YamlNode {
  std::string scalar;             ///< empty for lists and maps
  std::vector<YamlNode> items;    ///< of a list, or the values of a map
  std::vector<std::string> names; ///< of a map: those of the items
  Place place;
  const std::string *path = nullptr; ///< of the file

  bool isMap() const { return !names.empty(); }
  const YamlNode *find(llvm::StringRef key) const;
  /// The scalar of a field; empty if there is none.
  llvm::StringRef text(llvm::StringRef key) const;
  /// The items of a field; none if there is no list.
  const std::vector<YamlNode> &list(llvm::StringRef key) const;
  Error error(const llvm::Twine &message) const {
    return errorAt(*path, place, message);
  }
};

/// The only document of a file, which must outlive the tree. Fails at the place
/// of what is no YAML, on aliases, and on nesting too deep.
Result<YamlNode> parseYaml(const ImportFile &file);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_YAML_H
