//===- Xml.h - XML with places ----------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_XML_H
#define SCCL_LIB_IMPORT_XML_H

#include "Text.h"

#include <pugixml.hpp>

namespace sccl::import {

/// A parsed file. pugixml neither recurses nor expands entities of a DOCTYPE.
class XmlFile {
public:
  explicit XmlFile(const ImportFile &file) : file(file) {}
  /// Fails unless the text is XML with an element `root` at the top.
  std::optional<Error> parse(llvm::StringRef root);
  pugi::xml_node root() const { return document.document_element(); }
  Error error(pugi::xml_node node, const llvm::Twine &message) const {
    return errorAt(file.path, place(node), message);
  }
  Place place(pugi::xml_node node) const {
    return placeAt(file.text,
                   node.offset_debug() < 0 ? 0 : size_t(node.offset_debug()));
  }

private:
  const ImportFile &file;
  pugi::xml_document document;
};

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_XML_H
