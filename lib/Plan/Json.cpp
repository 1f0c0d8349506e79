//===- Json.cpp - The JSON of manifests -----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "sccl/Model/Text.h"

#include <algorithm>
#include <charconv>

using namespace sccl;
using namespace sccl::plan::json;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value::Value() = default;
Value::Value(bool value) : held(value) {}
Value::Value(std::string text) : held(std::move(text)) {}
Value::Value(llvm::StringRef text) : held(text.str()) {}
Value::Value(const char *text) : held(std::string(text)) {}
Value::Value(Array array) : held(std::move(array)) {}
Value::Value(Object object) : held(std::move(object)) {}

void Array::push_back(Value value) { values.push_back(std::move(value)); }
size_t Array::size() const { return values.size(); }
const Value *Array::begin() const { return values.data(); }
const Value *Array::end() const { return values.data() + values.size(); }
Value &Array::operator[](size_t index) { return values[index]; }

Object::Object(std::initializer_list<Member> members) : members(members) {}

Value *Object::get(llvm::StringRef key) {
  for (Member &member : members)
    if (member.key == key)
      return &member.value;
  return nullptr;
}

const Value *Object::get(llvm::StringRef key) const {
  return const_cast<Object *>(this)->get(key);
}

void Object::push_back(std::string key, Value value) {
  members.push_back({std::move(key), std::move(value)});
}

Value &Object::operator[](llvm::StringRef key) {
  if (Value *known = get(key))
    return *known;
  push_back(key.str(), {});
  return members.back().value;
}

/// What `value` is, if it is a T.
template <typename T> static const T *find(const Value *value) {
  return value ? value->as<T>() : nullptr;
}

template <typename T> static std::optional<T> copyOf(const Value *value) {
  const T *found = find<T>(value);
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<int64_t> Object::getInteger(llvm::StringRef key) const {
  return copyOf<int64_t>(get(key));
}
std::optional<bool> Object::getBoolean(llvm::StringRef key) const {
  return copyOf<bool>(get(key));
}
std::optional<llvm::StringRef> Object::getString(llvm::StringRef key) const {
  const Value *value = get(key);
  return value ? value->getAsString() : std::nullopt;
}
const Object *Object::getObject(llvm::StringRef key) const {
  return find<Object>(get(key));
}
Object *Object::getObject(llvm::StringRef key) {
  return const_cast<Object *>(find<Object>(get(key)));
}
const Array *Object::getArray(llvm::StringRef key) const {
  return find<Array>(get(key));
}
Array *Object::getArray(llvm::StringRef key) {
  return const_cast<Array *>(find<Array>(get(key)));
}

std::optional<llvm::StringRef> Value::getAsString() const {
  const auto *text = as<std::string>();
  return text ? std::optional<llvm::StringRef>(*text) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void printString(llvm::StringRef value, std::string &text) {
  text += '"';
  for (char c : value) {
    if (c == '"' || c == '\\')
      text += '\\';
    if (static_cast<unsigned char>(c) >= ' ') {
      text += c;
      continue;
    }
    // Names in plans have none, but a manifest that is refused is printed too.
    constexpr char digits[] = "0123456789abcdef";
    text += "\\u00";
    text += digits[c >> 4];
    text += digits[c & 15];
  }
  text += '"';
}

static void printObject(const Object &object, std::string &text) {
  std::vector<const Member *> sorted;
  for (const Member &member : object.all())
    sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](auto *a, auto *b) { return a->key < b->key; });
  text += '{';
  for (const Member *member : sorted) {
    if (member != sorted.front())
      text += ',';
    printString(member->key, text);
    text += ':';
    member->value.print(text);
  }
  text += '}';
}

void Value::print(std::string &text) const {
  if (const auto *flag = as<bool>())
    text += *flag ? "true" : "false";
  else if (const auto *number = as<int64_t>())
    text += std::to_string(*number);
  else if (const auto *string = as<std::string>())
    printString(*string, text);
  else if (const auto *object = as<Object>())
    printObject(*object, text);
  else if (const auto *array = as<Array>()) {
    text += '[';
    for (const Value &value : *array) {
      if (&value != array->begin())
        text += ',';
      value.print(text);
    }
    text += ']';
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class Parser {
public:
  explicit Parser(llvm::StringRef text) : all(text), rest(text) {}

  Result<Value> parse() {
    Value value;
    if (!readValue(value) || !skip().empty())
      return Error{"there is something else at byte " +
                   std::to_string(all.size() - rest.size())};
    return value;
  }

private:
  llvm::StringRef skip() { return rest = rest.ltrim(" \t\r\n"); }
  bool take(llvm::StringRef word) {
    skip();
    return rest.consume_front(word);
  }

  bool readString(std::string &value) {
    if (!take("\""))
      return false;
    while (!rest.empty() && rest.front() != '"') {
      if (rest.consume_front("\\")) {
        if (!readEscape(value))
          return false;
        continue;
      }
      size_t bytes = characterBytes(rest);
      if (bytes == 0)
        return false;
      value.append(rest.data(), bytes);
      rest = rest.drop_front(bytes);
    }
    return rest.consume_front("\"");
  }

  /// What follows a backslash. Of numbers only those of ASCII, which say what
  /// may not be written as it is.
  bool readEscape(std::string &value) {
    unsigned code;
    if (rest.starts_with("\"") || rest.starts_with("\\")) {
      value += rest.front();
      rest = rest.drop_front();
      return true;
    }
    if (!rest.consume_front("u") || rest.size() < 4 ||
        rest.take_front(4).getAsInteger(16, code) || code > 0x7f)
      return false;
    value += char(code);
    rest = rest.drop_front(4);
    return true;
  }

  bool readNumber(Value &value) {
    int64_t number;
    auto [end, error] = std::from_chars(rest.begin(), rest.end(), number);
    if (error != std::errc())
      return false;
    rest = rest.drop_front(end - rest.begin());
    value = number;
    return true;
  }

  bool readObject(Value &value) {
    Object object;
    for (bool isFirst = true; !take("}"); isFirst = false) {
      std::string key;
      Value member;
      if ((!isFirst && !take(",")) || !readString(key) || !take(":") ||
          !readValue(member))
        return false;
      object.push_back(std::move(key), std::move(member));
    }
    value = std::move(object);
    return true;
  }

  bool readArray(Value &value) {
    Array array;
    for (bool isFirst = true; !take("]"); isFirst = false) {
      Value item;
      if ((!isFirst && !take(",")) || !readValue(item))
        return false;
      array.push_back(std::move(item));
    }
    value = std::move(array);
    return true;
  }

  bool readValue(Value &value) {
    if (skip().starts_with("\"")) {
      std::string text;
      bool isDone = readString(text);
      value = std::move(text);
      return isDone;
    }
    if (take("{"))
      return readObject(value);
    if (take("["))
      return readArray(value);
    if (take("true"))
      return value = true, true;
    if (take("false"))
      return value = false, true;
    return readNumber(value);
  }

  llvm::StringRef all, rest;
};
} // namespace

Result<Value> plan::json::parse(llvm::StringRef text) {
  return Parser(text).parse();
}
