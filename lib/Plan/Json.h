//===- Json.h - The JSON of manifests ---------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of JSON as manifests have: no fractions, no null, of strings only
// what is written as it is. LLVM's reader ends the process when memory runs
// out; this throws std::bad_alloc, and leaves nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_JSON_H
#define SCCL_LIB_PLAN_JSON_H

#include "sccl/Model/Result.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace sccl::plan::json {

class Value;

class Array {
public:
  Array() = default;
  template <typename T>
  explicit Array(const std::vector<T> &items)
      : values(items.begin(), items.end()) {}
  void push_back(Value value);
  size_t size() const;
  const Value *begin() const;
  const Value *end() const;
  Value &operator[](size_t index);

private:
  std::vector<Value> values;
};

struct Member;

/// Members in any order; they are printed in that of their names.
class Object {
public:
  Object() = default;
  Object(std::initializer_list<Member> members);
  /// Makes it if there is none.
  Value &operator[](llvm::StringRef key);
  void push_back(std::string key, Value value);
  // Null or nothing if there is none, or it is something else.
  const Value *get(llvm::StringRef key) const;
  Value *get(llvm::StringRef key);
  std::optional<int64_t> getInteger(llvm::StringRef key) const;
  std::optional<bool> getBoolean(llvm::StringRef key) const;
  std::optional<llvm::StringRef> getString(llvm::StringRef key) const;
  const Object *getObject(llvm::StringRef key) const;
  Object *getObject(llvm::StringRef key);
  const Array *getArray(llvm::StringRef key) const;
  Array *getArray(llvm::StringRef key);
  const std::vector<Member> &all() const { return members; }

private:
  std::vector<Member> members;
};

class Value {
public:
  Value();
  Value(bool value);
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> &&
                                                    !std::is_same_v<T, bool>>>
  Value(T value);
  Value(std::string text);
  Value(llvm::StringRef text);
  Value(const char *text);
  Value(Array array);
  Value(Object object);

  template <typename T> const T *as() const { return std::get_if<T>(&held); }
  template <typename T> T *as() { return std::get_if<T>(&held); }
  const Object *getAsObject() const { return as<Object>(); }
  Object *getAsObject() { return as<Object>(); }
  std::optional<llvm::StringRef> getAsString() const;
  /// Adds the shortest text of it to `text`.
  void print(std::string &text) const;

private:
  std::variant<bool, int64_t, std::string, Array, Object> held;
};

struct Member {
  std::string key;
  Value value;
};

// The constructors stand behind Member: what a variant holds must be complete.
template <typename T, typename> Value::Value(T value) : held(int64_t(value)) {}

/// Reads one value, with spaces anywhere between its parts. `text` may not
/// nest deeper than the stack allows. Fails where it is something else.
Result<Value> parse(llvm::StringRef text);

} // namespace sccl::plan::json

#endif // SCCL_LIB_PLAN_JSON_H
