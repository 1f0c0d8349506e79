//===- Json.h - JSON with places --------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_JSON_H
#define SCCL_LIB_EXCHANGE_JSON_H

#include "TextPlaces.h"

#include <json/json.h>

namespace sccl::exchange {

/// The values of a file. What is missing or of the wrong type is said, once
/// each, in findings; a value that stands for it is returned.
class JsonReader {
public:
  JsonReader(std::string_view text, Findings &findings)
      : source(text), places(text), findings(findings) {}
  /// The outermost value; null after a finding if this is no JSON.
  Json::Value parse();

  void complain(const Json::Value &value, std::string message) {
    findings.add(placeOf(value), std::move(message));
  }
  Place placeOf(const Json::Value &value) const {
    return places.at(size_t(value.getOffsetStart()));
  }
  /// A field of an object that must be there.
  const Json::Value &field(const Json::Value &object, const char *name);
  uint64_t number(const Json::Value &object, const char *name, uint64_t most);
  uint64_t number(const Json::Value &value, const char *what, uint64_t least,
                  uint64_t most);
  /// The same, or `otherwise` if it is not there.
  uint64_t numberOr(const Json::Value &object, const char *name, uint64_t most,
                    uint64_t otherwise);
  bool flagOr(const Json::Value &object, const char *name, bool otherwise);
  std::string text(const Json::Value &object, const char *name);
  /// The items of a list that must be there; none after a finding.
  const Json::Value &list(const Json::Value &object, const char *name);
  const Json::Value &listOrNone(const Json::Value &object, const char *name);

  /// The beginning of a value, for messages.
  static std::string shortText(const Json::Value &value);

private:
  static const Json::Value &noList();

  std::string_view source;
  const TextPlaces places;
  Findings &findings;
};

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_JSON_H
