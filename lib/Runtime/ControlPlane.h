//===- ControlPlane.h - What ranks tell each other --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_CONTROLPLANE_H
#define SCCL_LIB_RUNTIME_CONTROLPLANE_H

#include "SharedMemory.h"

#include "sccl/ABI/KernelABI.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace sccl {

/// What a rank says to all others before a launch in which they touch each
/// other's buffers.
struct Call {
  uint64_t signature; ///< of program, type and reduction
  uint64_t segmentBytes;
  /// Where the buffers are: the number of a registered region and the offset in
  /// it, or `unregistered` and an address of the process.
  uint64_t sendRegion, sendOffset;
  uint64_t recvRegion, recvOffset;
  /// Of memory of scclMemAlloc, see Regions::past.
  uint64_t regionsPast;
  static constexpr uint64_t unregistered = UINT64_MAX;
  /// Of `signature`: the rank works in place.
  static constexpr uint64_t inPlaceBit = uint64_t(1) << 63;
};

/// In what the calls of two ranks differ, bits.
namespace difference {
enum Kind : unsigned {
  Plan = 1,
  Count = 2,
  Type = 4,
  Reduction = 8,
  Past = 16,
  Memory = 32,
  Refused = 64 ///< the culprit has made none: a launch of it has failed
};
} // namespace difference

/// Why a communicator is out of use: a result code, who was the cause, and who
/// noticed. Fits in a word; zero is none.
struct AbortCause {
  scclResult code = scclSuccess;
  unsigned culprit = noRank, reporter = noRank;
  unsigned differences = 0; ///< of calls; none if that is not known
  /// The culprit is in the launch as others are, but its process is stopped.
  bool isStopped = false;
  /// Ranks met in another collective call than a launch.
  bool isElsewhere = false;
  static constexpr unsigned noRank = 0xfffff;
  uint64_t encode() const {
    return uint64_t(code) | uint64_t(culprit) << 8 | uint64_t(reporter) << 32 |
           uint64_t(differences) << 52 | uint64_t(isElsewhere) << 62 |
           uint64_t(isStopped) << 63;
  }
  /// What programs are told. A limit in seconds, and the note of the culprit.
  Status describe(double seconds, const std::string &note) const;
  /// "count and type": what the calls of two ranks differ in.
  std::string describeDifferences() const;
  static AbortCause decode(uint64_t word) {
    return {scclResult(word & 0xff),
            unsigned(word >> 8 & noRank),
            unsigned(word >> 32 & noRank),
            unsigned(word >> 52 & 0x3ff),
            (word >> 63) != 0,
            (word >> 62 & 1) != 0};
  }
};

/// The mapped control memory of all ranks. One rank's part holds a word by
/// which anyone can stop everyone (that of rank 0 counts), the number of
/// launches it has begun, its mailbox, and a note. Words that different ranks
/// write have lines of their own.
class ControlPlane {
public:
  using Word = std::atomic<uint64_t>;

  /// Makes the part of rank `rank`.
  Status create(unsigned rank, unsigned numRanks);
  SharedMemoryHandle handle() const { return parts[own].handle(); }
  /// Maps the part of another rank.
  Status open(unsigned rank, const SharedMemoryHandle &handle) {
    return parts[rank].open(handle);
  }
  void seal() { parts[own].seal(); }
  /// Unmaps everything; nothing else may be called afterwards.
  void unmap() { parts.clear(); }

  unsigned numRanks() const { return parts.size(); }
  unsigned rank() const { return own; }
  /// All of the control memory of rank 0, which holds the abort word.
  char *abortPage() const { return parts[0].data(); }
  Word &abortWord() const { return word(0, 0); }
  /// Odd while the rank is in a launch; counts up at both ends of it.
  Word &state(unsigned rank) const { return word(rank, lineBytes); }
  /// Counts up while the rank gets on with a launch.
  Word &progress(unsigned rank) const {
    return word(rank, lineBytes + sizeof(Word));
  }
  /// This rank has got on.
  void advance() const {
    Word &counter = progress(own);
    counter.store(counter.load(std::memory_order_relaxed) + 1,
                  std::memory_order_relaxed);
  }

  /// What a rank launches, for others to compare: nobody else writes the lines,
  /// and seldom does anybody read them, so that it costs launches nothing.
  struct Announcement {
    uint64_t signature = 0; ///< of plan, type and reduction
    uint64_t count = 0;     ///< elements
    bool operator==(const Announcement &) const = default;
  };
  /// The signature of an announcement. `variant` tells apart what ranks may
  /// execute of the plan.
  static constexpr uint64_t sign(unsigned plan, unsigned type, unsigned op,
                                 unsigned variant = 0) {
    return uint64_t(plan) << 32 | uint64_t(variant & 0xffff) << 16 | type << 8 |
           op;
  }
  /// That of a launch that has failed on a rank before others were needed.
  static constexpr uint64_t refused = uint64_t(0xffffffff) << 32;
  /// In what two of them differ, see `difference`.
  static unsigned compare(const Announcement &a, const Announcement &b);
  /// The hash of all calls up to `what`, of which `history` is that of those
  /// before.
  static uint64_t extend(uint64_t history, const Announcement &what);
  /// This rank is in the launch that `state` now counts; `isNew` if it is for
  /// something else than the one before. Waits for ranks that are so far behind
  /// that they could not compare their launches with this one's; false if the
  /// communicator was aborted meanwhile.
  bool announce(const Announcement &what, bool &isNew);
  /// Waits until all ranks have announced the launch that this one is in. False
  /// if one of them has made other calls, which is raised, or if the
  /// communicator was aborted meanwhile.
  bool awaitSameCalls() const;
  /// Raises a mismatch if the calls of `other` differ from those of this rank,
  /// as far as both have announced them. True if they do.
  bool raiseOtherCalls(unsigned other) const;

  /// Stops everyone; the first cause counts.
  void raise(const AbortCause &cause) const {
    uint64_t none = 0;
    abortWord().compare_exchange_strong(none, cause.encode());
  }

  /// Has others read why a call of this rank has failed, which they may be
  /// waiting for. The text is cut off after 247 bytes.
  void leaveNote(const std::string &text) const;
  /// Takes it back: a later call goes well.
  void takeNoteBack() const {
    if (noteOf(own).text[0].load(std::memory_order_relaxed) != 0)
      leaveNote("");
  }
  /// The note of a rank; empty if there is none.
  std::string readNote(unsigned rank) const;

  /// What a rank passes to the one that launches for all ranks of a device, and
  /// what that one answers.
  struct Parcel {
    Word number; ///< of the launch that the arguments are for
    uint64_t signature;
    RankArguments arguments;
    Word finished; ///< launches that have ended
  };
  Parcel &parcel(unsigned rank) const {
    return *reinterpret_cast<Parcel *>(parts[rank].data() +
                                       parcelLine() * lineBytes);
  }
  /// Waits until `word` is at least `value`; false if the communicator was
  /// aborted meanwhile.
  bool await(const Word &word, uint64_t value) const;

  /// How far a program is that streams execute, as they say themselves: the
  /// number of its launches that had ended when the last one began, and when it
  /// ended. The rank is in a launch while the two are equal.
  struct Lane {
    Word begun, ended;
    bool isInFlight() const { return begun.load() == ended.load(); }
    /// Launches that have begun.
    uint64_t count() const { return begun.load() + 1; }
  };
  static constexpr unsigned numLanes = 256;
  Lane &lane(unsigned rank, unsigned index) const {
    return reinterpret_cast<Lane *>(parts[rank].data() +
                                    laneLine() * lineBytes)[index];
  }
  /// The part of this rank, and its length in bytes.
  char *ownPage() const { return parts[own].data(); }
  uint64_t partBytes() const {
    return laneLine() * lineBytes + numLanes * sizeof(Lane);
  }

  /// Sends `call` to all ranks and waits for theirs; returns false if the
  /// communicator was aborted meanwhile. `calls` has one entry per rank.
  bool exchange(const Call &call, Call *calls);

private:
  static constexpr uint64_t lineBytes = 128;
  struct Mail {
    Word number;
    Call call;
  };
  static_assert(sizeof(Mail) <= lineBytes);
  static_assert(sizeof(Parcel) <= lineBytes);
  /// Text in words, so that it can be read while it is written. The version is
  /// odd meanwhile.
  struct Note {
    Word version;
    Word text[31];
  };
  static constexpr uint64_t noteLines = 2;
  static_assert(sizeof(Note) <= noteLines * lineBytes);

  Word &word(unsigned rank, uint64_t offset) const {
    return *reinterpret_cast<Word *>(parts[rank].data() + offset);
  }
  /// Box of `to` for what `from` says in exchange `number`. Two boxes in turn
  /// are enough: nobody is two exchanges ahead of anybody.
  Mail &box(unsigned to, unsigned from, uint64_t number) const {
    uint64_t line = 2 + 2 * uint64_t(from) + (number & 1);
    return *reinterpret_cast<Mail *>(parts[to].data() + line * lineBytes);
  }
  /// After the boxes.
  uint64_t parcelLine() const { return 2 + 2 * uint64_t(numRanks()); }
  uint64_t announcedLine() const { return parcelLine() + 1 + noteLines; }
  uint64_t laneLine() const { return announcedLine() + announcedLines; }
  Note &noteOf(unsigned rank) const {
    return *reinterpret_cast<Note *>(parts[rank].data() +
                                     (parcelLine() + 1) * lineBytes);
  }

  /// The exchanges of this rank. Only the rank itself uses it; it is where all
  /// other numbers of launches are, so that tests can begin with high ones.
  Word &exchanges() const { return word(own, lineBytes + 2 * sizeof(Word)); }

  /// The number is that of the launch, and 0 while the rest is written. The
  /// history is a hash of all calls up to this one.
  struct Announced {
    Word number, signature, count, history;
  };
  /// The last launches of a rank. One can be ahead of another by some.
  static constexpr uint64_t numAnnounced = 64;
  bool awaitSlowest(uint64_t number);
  static constexpr uint64_t announcedLines =
      numAnnounced * sizeof(Announced) / lineBytes;
  Announced &announcedBy(unsigned rank, uint64_t number) const {
    return reinterpret_cast<Announced *>(
        parts[rank].data() +
        announcedLine() * lineBytes)[number / 2 % numAnnounced];
  }
  /// What a rank says of one launch.
  struct Entry {
    Announcement call;
    uint64_t history;
  };
  std::optional<Entry> read(unsigned rank, uint64_t number) const;
  /// How the launch `number` of this rank and of `other` differ; a code of
  /// success if they, and all before, do not, or are not known.
  AbortCause compareLaunch(unsigned other, uint64_t number,
                           bool &isKnown) const;

  unsigned own = 0;
  Announcement lastCall;     ///< announced
  uint64_t slowestState = 0; ///< no rank is further behind
  uint64_t history = 0;
  std::vector<SharedMemory> parts; ///< by rank
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_CONTROLPLANE_H
