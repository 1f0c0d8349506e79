//===- Arguments.h - What command lines have in common ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_ARGUMENTS_H
#define SCCL_TOOLS_SCCL_ARGUMENTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

namespace sccl::driver {

/// Reads the command line into the options of LLVM. False, after errors that
/// name the subcommand, if it makes no sense.
bool parseArguments(int argc, char **argv);

/// "--NAME", or "-N", for the first of `options` that was given; empty if none
/// was. Options that a call would ignore are refused by this.
std::string findGiven(std::initializer_list<const llvm::cl::Option *> options);

/// The bytes that `text` says, the value of the option `option` ("--bytes").
/// Prints an error with examples and returns nothing if it is no size.
std::optional<uint64_t> readBytes(llvm::StringRef option, llvm::StringRef text);

/// `description`, and what the default is. Lives as long as the process.
llvm::StringRef withDefault(llvm::StringRef description,
                            const std::string &value);
template <typename T> std::string defaultText(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}
template <> inline std::string defaultText(const double &value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// As cl::init, and tells it in --help. Goes after cl::desc.
template <typename T> struct Usually {
  T value;
  template <typename Option> void apply(Option &option) const {
    option.setInitialValue(value);
    option.setDescription(withDefault(option.HelpStr, defaultText(value)));
  }
};
template <typename T> Usually<T> usually(const T &value) { return {value}; }
inline Usually<std::string> usually(const char *value) { return {value}; }

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_ARGUMENTS_H
