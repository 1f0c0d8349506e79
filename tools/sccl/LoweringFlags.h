//===- LoweringFlags.h - Options of lowering --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_LOWERINGFLAGS_H
#define SCCL_TOOLS_SCCL_LOWERINGFLAGS_H

#include "sccl/Options/LoweringOptions.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>

namespace sccl::driver {

/// The options of a subcommand that lowers schedules: those of some groups that
/// LoweringOptions.td declares.
class LoweringFlags {
public:
  using Groups = std::initializer_list<OptionGroup>;
  LoweringFlags(llvm::cl::SubCommand &command, Groups groups) {
    for (const LoweringOptionRow &row : loweringOptionRows())
      if (llvm::is_contained(groups, row.group))
        std::visit([&](auto member) { declare(command, row, member); },
                   row.member);
  }

  /// What was given, with the last value of what may be given several times.
  LoweringOptions get() const {
    LoweringOptions options;
    for (const Flag &flag : flags)
      flag.read(options);
    return options;
  }

  /// All values that were given for a repeatable option, or else its default.
  template <typename T>
  std::vector<T> values(T LoweringOptions::*member) const {
    for (const Flag &flag : flags)
      if (flag.row->member == LoweringOptionRow::Member(member) &&
          flag.option->getNumOccurrences() != 0) {
        auto &list = static_cast<const llvm::cl::list<T> &>(*flag.option);
        return {list.begin(), list.end()};
      }
    return {LoweringOptions().*member};
  }

  using Options = std::initializer_list<const llvm::cl::Option *>;
  /// "--NAME" for the first of `options` that was given; empty if none was.
  static std::string findGiven(Options options) {
    for (const llvm::cl::Option *option : options)
      if (option->getNumOccurrences() != 0)
        return ("--" + option->ArgStr).str();
    return "";
  }
  /// The same for the options of a group.
  std::string findGiven(OptionGroup group) const {
    for (const Flag &flag : flags)
      if (flag.row->group == group)
        if (std::string name = findGiven({flag.option.get()}); !name.empty())
          return name;
    return "";
  }
  /// The same for what plans have variants for.
  std::string findReplacedByVariants() const {
    for (const Flag &flag : flags)
      for (LoweringOptionRow::Member member :
           {LoweringOptionRow::Member(&LoweringOptions::transport),
            LoweringOptionRow::Member(&LoweringOptions::steps)})
        if (flag.row->member == member)
          if (std::string name = findGiven({flag.option.get()}); !name.empty())
            return name;
    return "";
  }
  /// "N times --NAME" for the first option that was given more than once; empty
  /// if there is none. Those for links add up.
  std::string findRepeated() const {
    for (const Flag &flag : flags)
      if (flag.row->member !=
              LoweringOptionRow::Member(&LoweringOptions::links) &&
          flag.option->getNumOccurrences() > 1)
        return std::to_string(flag.option->getNumOccurrences()) + " times --" +
               flag.row->word;
    return "";
  }

private:
  struct Flag {
    const LoweringOptionRow *row;
    std::shared_ptr<llvm::cl::Option> option;
    std::function<void(LoweringOptions &)> read;
  };

  template <typename T>
  void declare(llvm::cl::SubCommand &command, const LoweringOptionRow &row,
               T LoweringOptions::*member) {
    namespace cl = llvm::cl;
    if (!row.isRepeatable) {
      auto option = std::make_shared<cl::opt<T>>(
          llvm::StringRef(row.word), cl::desc(row.description),
          cl::sub(command), cl::init(LoweringOptions().*member));
      flags.push_back({&row, option, [=](LoweringOptions &options) {
                         options.*member = option->getValue();
                       }});
      return;
    }
    auto list = std::make_shared<cl::list<T>>(
        llvm::StringRef(row.word), cl::desc(row.description), cl::sub(command));
    flags.push_back({&row, list, [=](LoweringOptions &options) {
                       for (const T &value : *list)
                         take(options.*member, value);
                     }});
  }

  template <typename T> static void take(T &member, const T &value) {
    member = value;
  }
  static void take(LinkTransports &member, const LinkTransports &value) {
    llvm::append_range(member, value);
  }

  std::vector<Flag> flags;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_LOWERINGFLAGS_H
