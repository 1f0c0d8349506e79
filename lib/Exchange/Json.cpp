//===- Json.cpp - JSON with places ----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <algorithm>
#include <cstdio>
#include <memory>

using namespace sccl;
using namespace sccl::exchange;

Json::Value JsonReader::parse() {
  Json::CharReaderBuilder builder;
  Json::CharReaderBuilder::strictMode(&builder.settings_);
  builder["collectComments"] = false;
  builder["stackLimit"] = 64;
  std::unique_ptr<Json::CharReader> reader(builder.newCharReader());
  Json::Value value;
  std::string message;
  try {
    if (reader->parse(source.data(), source.data() + source.size(), &value,
                      &message))
      return value;
  } catch (const Json::Exception &) {
    findings.add({}, "this is no JSON that is read: it nests too deep");
    return {};
  }
  // "* Line 2, Column 17\n  Syntax error: ...\n".
  Place place;
  int read = 0;
  if (std::sscanf(message.c_str(), "* Line %u, Column %u %n", &place.line,
                  &place.column, &read) == 2)
    message.erase(0, size_t(read));
  findings.add(place, "this is no JSON: " +
                          message.substr(0, message.find_first_of("\n")));
  return {};
}

const Json::Value &JsonReader::noList() {
  static const Json::Value none(Json::arrayValue);
  return none;
}

const Json::Value &JsonReader::field(const Json::Value &object,
                                     const char *name) {
  if (!object.isObject())
    complain(object, std::string("expected an object with \"") + name + "\"");
  else if (!object.isMember(name))
    complain(object, std::string("there is no \"") + name + "\"");
  else
    return object[name];
  return Json::Value::nullSingleton();
}

std::string JsonReader::shortText(const Json::Value &value) {
  std::string text = value.toStyledString();
  return text.substr(0, std::min<size_t>(text.find('\n'), 40));
}

uint64_t JsonReader::number(const Json::Value &value, const char *what,
                            uint64_t least, uint64_t most) {
  if (value.isUInt64() && value.asUInt64() >= least && value.asUInt64() <= most)
    return value.asUInt64();
  complain(value, std::string("\"") + what + "\" is " + shortText(value) +
                      ", expected a number between " + std::to_string(least) +
                      " and " + std::to_string(most));
  return least;
}

uint64_t JsonReader::number(const Json::Value &object, const char *name,
                            uint64_t most) {
  const Json::Value &value = field(object, name);
  return value.isNull() ? 0 : number(value, name, 0, most);
}

uint64_t JsonReader::numberOr(const Json::Value &object, const char *name,
                              uint64_t most, uint64_t otherwise) {
  return object.isObject() && object.isMember(name)
             ? number(object[name], name, 0, most)
             : otherwise;
}

bool JsonReader::flagOr(const Json::Value &object, const char *name,
                        bool otherwise) {
  if (!object.isObject() || !object.isMember(name))
    return otherwise;
  if (!object[name].isBool())
    complain(object[name], std::string("\"") + name + "\" is no true or false");
  return object[name].isBool() && object[name].asBool();
}

std::string JsonReader::text(const Json::Value &object, const char *name) {
  const Json::Value &value = field(object, name);
  if (value.isString())
    return value.asString();
  if (!value.isNull())
    complain(value, std::string("\"") + name + "\" is no string");
  return "";
}

const Json::Value &JsonReader::listOrNone(const Json::Value &object,
                                          const char *name) {
  if (!object.isObject() || !object.isMember(name))
    return noList();
  if (object[name].isArray())
    return object[name];
  complain(object[name], std::string("\"") + name + "\" is no list");
  return noList();
}

const Json::Value &JsonReader::list(const Json::Value &object,
                                    const char *name) {
  return field(object, name).isNull() ? noList() : listOrNone(object, name);
}
