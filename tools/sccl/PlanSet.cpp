//===- PlanSet.cpp - The set of files that sccl plan writes ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSet.h"

#include "AdviceReport.h"
#include "Driver.h"
#include "SetPrograms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::exchange;

namespace {
/// Sizes of calls for which one program was advised.
struct Range {
  uint64_t least, most; ///< bytes of the larger buffer
  const SizeAdvice *advice;
};

/// Where a program is not what was advised.
struct Deviation {
  double loss; ///< its time over that which was advised
  std::string text;
};

/// What serves some sizes: a program, or a reason for none.
struct Service {
  uint64_t least, most;
  bool inPlace;
  std::optional<ProgramKey> key;
  std::string reason;
  std::vector<Deviation> deviations = {};
  bool isForBoth = false; ///< in place and out of place
};

class SetMaker {
public:
  SetMaker(SetPrograms &programs, const Advice &advice)
      : programs(programs), advice(advice), set(programs.emptySet()) {}
  Result<MadeSet> make();

private:
  std::vector<Range> ranges() const;
  Result<Service> serviceFor(const Range &range, bool inPlace);
  Result<std::vector<ProgramKey>> rank(llvm::ArrayRef<ProgramKey> keys,
                                       const Range &range);
  Result<Service> fastest(const Range &range, bool inPlace,
                          const std::string &reason);
  Result<Deviation> deviationOf(const ProgramKey &key, const SizeAdvice &size,
                                const std::string &reason);
  std::optional<Error> serve(const Range &range, bool inPlace);
  std::optional<Error> serveInPlace(const Service &outOfPlace);
  void add(Service service);
  void joinPlaces();
  std::optional<Error> addFile(const Service &service, unsigned number);

  SetPrograms &programs;
  const Advice &advice;
  AlgorithmSet set;
  std::vector<Service> services;
  std::map<std::string, std::string> texts;
};
} // namespace

/// Between two sizes the second program takes over at their geometric mean, as
/// in tables of plans.
std::vector<Range> SetMaker::ranges() const {
  std::vector<Range> result;
  uint64_t least = set.least;
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    uint64_t most = set.most;
    if (i + 1 < advice.sizes.size())
      most = uint64_t(std::ceil(std::sqrt(double(advice.sizes[i].bytes) *
                                          double(advice.sizes[i + 1].bytes)))) *
                 programs.scale() -
             1;
    result.push_back({least, most, &advice.sizes[i]});
    least = most + 1;
  }
  return result;
}

/// What the program of `key` takes where another was advised, and why.
Result<Deviation> SetMaker::deviationOf(const ProgramKey &key,
                                        const SizeAdvice &size,
                                        const std::string &reason) {
  Result<double> time = programs.timeOf(key, size.bytes * programs.scale());
  if (!time)
    return Error{time.error()};
  std::string text = llvm::formatv(
      "{0} to send: {1:f1} us, advised {2:f1} as {3}, {4}: ",
      formatBytes(size.bytes), *time, size.microseconds,
      describeCandidate(advice.candidates[size.candidate]), size.way);
  return Deviation{*time / size.microseconds, text + reason};
}

/// `keys` by the times of their programs for what `range` was advised for.
Result<std::vector<ProgramKey>> SetMaker::rank(llvm::ArrayRef<ProgramKey> keys,
                                               const Range &range) {
  std::vector<std::pair<double, ProgramKey>> timed;
  for (const ProgramKey &key : keys) {
    Result<double> time =
        programs.timeOf(key, range.advice->bytes * programs.scale());
    if (!time)
      return Error{time.error()};
    timed.emplace_back(*time, key);
  }
  llvm::sort(timed);
  std::vector<ProgramKey> ranked;
  for (const auto &[time, key] : timed)
    ranked.push_back(key);
  return ranked;
}

/// The fastest program that the executor takes. Those of the least estimates
/// are simulated first: to write a program and check it takes longer than that.
Result<Service> SetMaker::fastest(const Range &range, bool inPlace,
                                  const std::string &reason) {
  constexpr size_t mostTimed = 12;
  std::vector<ProgramKey> keys = programs.othersFor(*range.advice);
  llvm::erase_if(keys, [&](const ProgramKey &key) {
    return programs.isRefused(key, inPlace);
  });
  uint64_t addressed = 0;
  for (size_t first = 0; first < keys.size(); first += mostTimed) {
    Result<std::vector<ProgramKey>> ranked =
        rank(llvm::ArrayRef(keys).slice(first).take_front(mostTimed), range);
    if (!ranked)
      return Error{ranked.error()};
    for (const ProgramKey &key : *ranked) {
      Result<const Written *> written = programs.write(key, inPlace);
      if (!written)
        return Error{written.error()};
      if (programs.misfit(**written, range.least, range.most).empty())
        return Service{range.least, std::min(range.most, (*written)->most),
                       inPlace, key, ""};
      addressed = std::max(addressed, (*written)->most);
    }
  }
  std::string why = reason;
  if (addressed > 0 && addressed < range.least &&
      programs.isRefused(programs.keyOf(*range.advice), inPlace))
    why += "; others, with their scratch memory, are addressed by 32 bits up "
           "to " +
           formatBytes(addressed);
  return Service{range.least, range.most, inPlace, std::nullopt, why};
}

/// What serves the first sizes of `range`.
Result<Service> SetMaker::serviceFor(const Range &range, bool inPlace) {
  const SizeAdvice &size = *range.advice;
  ProgramKey asked = programs.keyOf(size);
  Result<const Written *> written = programs.write(asked, inPlace);
  if (!written)
    return Error{written.error()};
  std::string reason = programs.misfit(**written, range.least, range.most);
  if (reason.empty() && size.way == "ll" && !asked.usesLL)
    reason = "LL words cannot go between boxes";
  Service service{range.least, std::min(range.most, (*written)->most), inPlace,
                  asked, ""};
  bool isAdvised = size.way == "push" || size.way == "ll";
  if (reason.empty() && isAdvised)
    return service;
  if (reason.empty()) {
    reason = "the executor has memory of its own";
  } else {
    Result<Service> other = fastest(range, inPlace, reason);
    if (!other || !other->key)
      return other;
    service = *other;
  }
  Result<Deviation> deviation = deviationOf(*service.key, size, reason);
  if (!deviation)
    return Error{deviation.error()};
  service.deviations = {*deviation};
  return service;
}

std::optional<Error> SetMaker::serve(const Range &range, bool inPlace) {
  for (Range rest = range; rest.least <= rest.most;
       rest.least = services.back().most + 1) {
    Result<Service> service = serviceFor(rest, inPlace);
    if (!service)
      return Error{service.error()};
    add(std::move(*service));
  }
  return std::nullopt;
}

/// With the program that serves calls out of place, if that can be run in
/// place.
std::optional<Error> SetMaker::serveInPlace(const Service &outOfPlace) {
  Service service = outOfPlace;
  service.inPlace = true;
  if (service.key) {
    Result<const Written *> written = programs.write(*service.key, true);
    if (!written)
      return Error{written.error()};
    if ((*written)->most >= service.most &&
        programs.misfit(**written, service.least, service.most).empty()) {
      add(std::move(service));
      return std::nullopt;
    }
  }
  for (Range range : ranges()) {
    range.least = std::max(range.least, service.least);
    range.most = std::min(range.most, service.most);
    if (range.least <= range.most)
      if (auto error = serve(range, true))
        return error;
  }
  return std::nullopt;
}

/// Joins what has the same program, or the same reason for none.
void SetMaker::add(Service service) {
  Service *last = services.empty() ? nullptr : &services.back();
  bool isSame = last && last->inPlace == service.inPlace &&
                last->most + 1 == service.least && last->key == service.key &&
                (service.key || last->reason == service.reason);
  if (!isSame) {
    services.push_back(std::move(service));
    return;
  }
  last->most = service.most;
  llvm::append_range(last->deviations, service.deviations);
}

/// An algorithm of MSCCL may be for calls in place and out of place.
void SetMaker::joinPlaces() {
  for (Service &service : services)
    service.isForBoth = !programs.isPlans() && service.key &&
                        llvm::any_of(services, [&](const Service &other) {
                          return other.inPlace != service.inPlace &&
                                 other.least == service.least &&
                                 other.most == service.most &&
                                 other.key == service.key;
                        });
  std::erase_if(services, [](const Service &service) {
    return service.isForBoth && service.inPlace;
  });
}

std::optional<Error> SetMaker::addFile(const Service &service,
                                       unsigned number) {
  SetFile file{};
  file.path = llvm::formatv(
      "{0}/{1}_{2}{3}{4}", set.folder().data(), collectiveName(set.kind).data(),
      llvm::format_decimal(number, 2), service.inPlace ? "_in_place" : "",
      programs.isPlans() ? ".json" : ".xml");
  std::ranges::replace(file.path, ' ', '0');
  file.least = service.least;
  file.most = service.most;
  file.inPlace = service.inPlace || service.isForBoth;
  file.outOfPlace = !service.inPlace;
  file.program = programs.describe(*service.key);
  for (const Deviation &deviation : service.deviations)
    file.notes.push_back(deviation.text);
  for (auto [bytes, nanoseconds] :
       {std::pair(file.least, &file.leastNanoseconds),
        std::pair(file.most, &file.mostNanoseconds)}) {
    Result<double> time = programs.timeOf(*service.key, bytes);
    if (!time)
      return Error{time.error()};
    *nanoseconds = wholeNanoseconds(*time * 1e3);
  }
  Result<const Written *> written =
      programs.write(*service.key, service.inPlace);
  if (!written)
    return Error{written.error()};
  file.multiple = (*written)->multiple;
  std::string text = programs.textOf(file, **written);
  file.hash = hashOfText(text);
  texts[file.path] = std::move(text);
  set.files.push_back(std::move(file));
  return std::nullopt;
}

Result<MadeSet> SetMaker::make() {
  for (const Range &range : ranges())
    if (auto error = serve(range, /*inPlace=*/false))
      return *error;
  for (const Service &service : std::vector<Service>(services))
    if (auto error = serveInPlace(service))
      return *error;
  joinPlaces();
  unsigned number = 0;
  for (Service &service : services) {
    llvm::stable_sort(
        service.deviations,
        [](const Deviation &a, const Deviation &b) { return a.loss > b.loss; });
    if (!service.key)
      set.gaps.push_back(
          {{}, service.least, service.most, service.inPlace, service.reason});
    else if (auto error = addFile(service, ++number))
      return *error;
  }
  texts[std::string(set.loader())] = loaderText(set);
  texts[std::string(setManifest)] = exchange::printSet(set);
  return MadeSet{std::move(set), std::move(texts)};
}

Result<MadeSet> driver::makeSet(mlir::MLIRContext &context,
                                SetExecutor executor, const NamedFabric &named,
                                const Advice &advice,
                                const LoweringOptions &options) {
  SetPrograms programs(context, executor, named, advice, options);
  return SetMaker(programs, advice).make();
}
