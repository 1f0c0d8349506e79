//===- LoweringFlags.h - Options of lowering --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_LOWERINGFLAGS_H
#define SCCL_TOOLS_SCCL_LOWERINGFLAGS_H

#include "Arguments.h"
#include "Driver.h"

#include "sccl/Options/LoweringOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>

namespace sccl::driver {

/// False, after an error, if `module`, of the file `path`, holds programs only,
/// and one that was `given` says how programs are made of schedules; or if it
/// is about reductions, and nothing there reduces.
bool areForContents(const GivenOptions &given, mlir::ModuleOp module,
                    llvm::StringRef path);

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

  GivenOptions given() const {
    GivenOptions rows;
    for (const Flag &flag : flags)
      if (flag.option->getNumOccurrences() != 0)
        rows.push_back(flag.row);
    return rows;
  }
  /// Their values, with the last of what may be given several times.
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

  /// All that the same code is to reduce.
  ReductionSet reductions() const {
    return {values(&LoweringOptions::element),
            values(&LoweringOptions::reduction)};
  }

  /// "--NAME" for the first option of a group that was given; empty if none
  /// was.
  std::string findGiven(OptionGroup group) const {
    for (const Flag &flag : flags)
      if (flag.row->group == group)
        if (std::string name = driver::findGiven({flag.option.get()});
            !name.empty())
          return name;
    return "";
  }
  /// The same for what plans have variants for.
  std::string findReplacedByVariants() const {
    return findAmong({&LoweringOptions::transport, &LoweringOptions::steps});
  }
  /// Why an option that was given changes nothing; empty if none does.
  std::string findIdle() const {
    std::vector<unsigned> pieces = values(&LoweringOptions::pieces);
    std::string order = findAmong(
        {&LoweringOptions::pieceDistance, &LoweringOptions::pieceRounds});
    if (!order.empty() &&
        llvm::all_of(pieces, [](unsigned n) { return n < 2; }))
      return order + " needs --pieces of at least 2";
    std::string blocks = findAmong({&LoweringOptions::residentBlocks});
    if (!blocks.empty() && !get().residency)
      return blocks + " is for the check that --residency=false leaves out";
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

  using Members = std::initializer_list<LoweringOptionRow::Member>;
  /// "--NAME" for the first of these that was given; empty if none was.
  std::string findAmong(Members members) const {
    for (const Flag &flag : flags)
      if (llvm::is_contained(members, flag.row->member))
        if (std::string name = driver::findGiven({flag.option.get()});
            !name.empty())
          return name;
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
    llvm::StringRef description = row.description;
    std::string usual = defaultText(LoweringOptions().*member);
    if (!llvm::is_contained({"", "0", "false"}, usual))
      description = withDefault(description, usual);
    cl::OptionHidden hidden = isRare(row) ? cl::Hidden : cl::NotHidden;
    if (!row.isRepeatable) {
      auto option = std::make_shared<cl::opt<T>>(
          llvm::StringRef(row.word), cl::desc(description), cl::sub(command),
          cl::init(LoweringOptions().*member), hidden);
      flags.push_back({&row, option, [=](LoweringOptions &options) {
                         options.*member = option->getValue();
                       }});
      return;
    }
    auto list = std::make_shared<cl::list<T>>(llvm::StringRef(row.word),
                                              cl::desc(description),
                                              cl::sub(command), hidden);
    flags.push_back({&row, list, [=](LoweringOptions &options) {
                       for (const T &value : *list)
                         take(options.*member, value);
                     }});
  }

  /// True for what --help-hidden lists: what few programs need.
  static bool isRare(const LoweringOptionRow &row) {
    using Member = LoweringOptionRow::Member;
    const Member rare[] = {
        &LoweringOptions::pieceDistance,  &LoweringOptions::pieceRounds,
        &LoweringOptions::links,          &LoweringOptions::steps,
        &LoweringOptions::throughScratch, &LoweringOptions::doubleBuffer,
        &LoweringOptions::virtualRanks,   &LoweringOptions::residency,
        &LoweringOptions::residentBlocks, &LoweringOptions::audit};
    return llvm::is_contained(rare, row.member);
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
