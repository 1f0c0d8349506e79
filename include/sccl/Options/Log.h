//===- Log.h - Printing what a component does -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Like LLVM_DEBUG and --debug-only, which packaged LLVM leaves out:
//
//   static Log chooseTransportLog("choose-transport");
//   SCCL_LOG(chooseTransportLog, "link " << src << " -> " << dst);
//
// prints "[choose-transport] link 0 -> 1" with --log=choose-transport or
// --log=all, in sccl-opt and in all subcommands of sccl.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIONS_LOG_H
#define SCCL_OPTIONS_LOG_H

#include "llvm/Support/raw_ostream.h"

#include <string_view>

namespace sccl {

/// What one component prints about its work. Has static storage duration.
class Log {
public:
  explicit Log(std::string_view component);
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  bool isOn() const { return on; }
  /// The stream for a line, which has begun with the component.
  llvm::raw_ostream &line() const;

  std::string_view component() const { return name; }
  void turnOn() { on = true; }

private:
  std::string_view name;
  bool on = false;
};

/// Registers --log, with the components that are linked in. To be called before
/// the command line is parsed.
void registerLogOption();

} // namespace sccl

#define SCCL_LOG(component, message)                                           \
  do {                                                                         \
    if ((component).isOn())                                                    \
      (component).line() << message << '\n';                                   \
  } while (false)

#endif // SCCL_OPTIONS_LOG_H
