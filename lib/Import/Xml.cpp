//===- Xml.cpp - XML with places ------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Xml.h"

#include "Model/XmlRules.h"

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

std::optional<Error> XmlFile::parse(StringRef root) {
  pugi::xml_parse_result result =
      document.load_buffer(file.text.data(), file.text.size(), xmlParsing);
  if (!result)
    return errorAt(file.path, placeAt(file.text, size_t(result.offset)),
                   "no XML: " + StringRef(result.description()).lower());
  if (!document.document_element())
    return errorAt(file.path, {1, 1}, "no XML: no document element found");
  std::optional<Error> wrong;
  checkXmlRules(document, file.text, [&](size_t offset, std::string message) {
    if (!wrong)
      wrong = errorAt(file.path, placeAt(file.text, offset), message);
  });
  if (wrong)
    return wrong;
  if (document.document_element().name() == root)
    return std::nullopt;
  return errorAt(file.path, place(document.document_element()),
                 "expected an element <" + root + ">, got <" +
                     document.document_element().name() + ">");
}
