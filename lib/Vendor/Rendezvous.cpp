//===- Rendezvous.cpp - How ranks with one unique id meet -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rendezvous.h"

#include "Runtime/Quiet.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sccl::vendor;

static constexpr char magic[8] = {'s', 'c', 'c', 'l', 'i', 'd', '0', '1'};

namespace {
/// What a rank says first.
struct Hello {
  unsigned long long secret;
  int rank, numRanks;
};
} // namespace

static std::string withErrno(const char *what) {
  return std::string(what) + ": " + std::strerror(errno);
}

static bool sendAll(int socket, const void *data, size_t bytes) {
  auto *at = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
    bytes -= sent;
  }
  return true;
}

static bool receiveAll(int socket, void *data, size_t bytes) {
  auto *at = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t received = ::recv(socket, at, bytes, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return false;
    at += received;
    bytes -= received;
  }
  return true;
}

/// The first address of this host that others may reach, else that of loopback.
static unsigned hostAddress() {
  unsigned found = htonl(INADDR_LOOPBACK);
  ifaddrs *all = nullptr;
  if (getifaddrs(&all))
    return found;
  for (ifaddrs *one = all; one; one = one->ifa_next)
    if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET &&
        (one->ifa_flags & IFF_UP) && !(one->ifa_flags & IFF_LOOPBACK)) {
      found = reinterpret_cast<sockaddr_in *>(one->ifa_addr)->sin_addr.s_addr;
      break;
    }
  freeifaddrs(all);
  return found;
}

namespace {
using Clock = std::chrono::steady_clock;

/// Whoever has connected, and not said all of its hello.
struct Newcomer {
  int socket;
  Clock::time_point until; ///< so long it is waited for
  Hello hello = {};
  size_t received = 0; ///< bytes of it
  bool hasGone = false;

  bool isHeard() const { return received == sizeof hello; }
  /// Takes what has come.
  void listen() {
    ssize_t bytes = ::recv(socket, reinterpret_cast<char *>(&hello) + received,
                           sizeof hello - received, MSG_DONTWAIT);
    if (bytes > 0)
      received += bytes;
    else
      hasGone = bytes == 0 || (errno != EINTR && errno != EAGAIN);
  }
};

/// The thread that serves the ranks of one group.
class Server {
public:
  Server(int listener, unsigned long long secret)
      : listener(listener), secret(secret) {}
  ~Server() {
    stopListening();
    for (int socket : sockets)
      if (socket >= 0)
        ::close(socket);
  }

  void run() {
    bool isComplete = acceptAll();
    // Whoever comes later would wait for ever: an id is for one communicator.
    stopListening();
    while (isComplete && serveGather())
      ;
  }

private:
  static constexpr std::chrono::minutes patience{5};         ///< for a rank
  static constexpr std::chrono::seconds patienceForHello{5}; ///< for all of it
  static constexpr size_t mostNewcomers = 256; ///< who are listened to at once

  void stopListening() {
    if (listener >= 0)
      ::close(listener);
    listener = -1;
    for (const Newcomer &newcomer : newcomers)
      ::close(newcomer.socket);
    newcomers.clear();
  }

  /// Returns whether all ranks have come. Those who say nothing, or half a
  /// hello, hold nobody up.
  bool acceptAll() {
    end = Clock::now() + patience;
    while (missing > 0) {
      if (Clock::now() >= end)
        return false;
      awaitNews();
      if (!admitAll())
        return false;
    }
    return true;
  }

  /// Listens to newcomers, and for new ones, for a second at most.
  void awaitNews() {
    bool hasRoom = newcomers.size() < mostNewcomers;
    std::vector<pollfd> entries = {{listener, short(hasRoom ? POLLIN : 0), 0}};
    for (const Newcomer &newcomer : newcomers)
      entries.push_back({newcomer.socket, POLLIN, 0});
    if (::poll(entries.data(), entries.size(), /*milliseconds=*/1000) <= 0)
      return;
    for (size_t i = 0; i < newcomers.size(); ++i)
      if (entries[i + 1].revents != 0)
        newcomers[i].listen();
    if (entries[0].revents == 0)
      return;
    int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    // There may be no descriptor left: others may close some.
    if (socket < 0)
      ::poll(nullptr, 0, /*milliseconds=*/10);
    else
      newcomers.push_back({socket, Clock::now() + patienceForHello});
  }

  /// Makes ranks of those who have said so, and sends others away. Returns
  /// false if a rank has come that cannot be of this group.
  bool admitAll() {
    bool isRight = true;
    std::erase_if(newcomers, [&](const Newcomer &newcomer) {
      bool isOver = newcomer.hasGone || Clock::now() >= newcomer.until;
      if (!newcomer.isHeard() && !isOver)
        return false;
      // Whoever does not know the secret is none of the ranks.
      if (!newcomer.isHeard() || !isRank(newcomer.hello) || missing == 0)
        ::close(newcomer.socket);
      else
        isRight &= admit(newcomer);
      return true;
    });
    return isRight;
  }

  bool isRank(const Hello &hello) const {
    return hello.secret == secret && hello.numRanks >= 1 && hello.rank >= 0 &&
           hello.rank < hello.numRanks;
  }

  /// False if it is a rank that is taken, or of another group: then all fail.
  bool admit(const Newcomer &newcomer) {
    const Hello &hello = newcomer.hello;
    if (sockets.empty()) {
      sockets.assign(hello.numRanks, -1);
      missing = hello.numRanks;
    }
    if (size_t(hello.numRanks) != sockets.size() || sockets[hello.rank] != -1) {
      ::close(newcomer.socket);
      return false;
    }
    sockets[hello.rank] = newcomer.socket;
    --missing;
    end = Clock::now() + patience;
    return true;
  }

  bool serveGather() {
    std::string all;
    size_t first = 0;
    for (size_t rank = 0; rank < sockets.size(); ++rank) {
      size_t bytes;
      if (!receiveAll(sockets[rank], &bytes, sizeof bytes) ||
          bytes > (64u << 20))
        return false;
      if (rank == 0)
        all.resize((first = bytes) * sockets.size());
      if (bytes != first ||
          !receiveAll(sockets[rank], &all[rank * bytes], bytes))
        return false;
    }
    for (int socket : sockets)
      if (!sendAll(socket, all.data(), all.size()))
        return false;
    return true;
  }

  int listener;
  unsigned long long secret;
  std::vector<Newcomer> newcomers;
  std::vector<int> sockets; ///< by rank, once one has come
  size_t missing = 1;       ///< ranks
  Clock::time_point end;    ///< if no rank comes before
};
} // namespace

static void *serve(void *server) {
  std::unique_ptr<Server>(static_cast<Server *>(server))->run();
  return nullptr;
}

std::string sccl::vendor::listenForRanks(Address &address) {
  std::memset(&address, 0, sizeof address);
  std::memcpy(address.magic, magic, sizeof magic);
  address.address = hostAddress();
  std::random_device random;
  address.secret = (uint64_t(random()) << 32) | random();
  // Who has connected may have gone before it is accepted.
  int listener =
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0)
    return withErrno("socket");
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = address.address;
  socklen_t size = sizeof place;
  auto *name = reinterpret_cast<sockaddr *>(&place);
  if (::bind(listener, name, size) || ::listen(listener, 4096) ||
      ::getsockname(listener, name, &size)) {
    std::string problem = withErrno("cannot listen for ranks");
    ::close(listener);
    return problem;
  }
  address.port = place.sin_port;
  auto server = std::make_unique<Server>(listener, address.secret);
  pthread_t thread;
  Quiet quiet;
  if (int code = pthread_create(&thread, nullptr, serve, server.get()))
    return std::string("cannot start a thread: ") + std::strerror(code);
  server.release();
  pthread_detach(thread);
  return "";
}

std::unique_ptr<Rendezvous> Rendezvous::join(const Address &address, int rank,
                                             int numRanks,
                                             std::string &problem) {
  if (std::memcmp(address.magic, magic, sizeof magic)) {
    problem = "the unique id was not made by ncclGetUniqueId of libsccl-nccl";
    return nullptr;
  }
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = address.address;
  place.sin_port = address.port;
  int on = 1;
  Hello hello = {address.secret, rank, numRanks};
  if (socket < 0 ||
      ::connect(socket, reinterpret_cast<sockaddr *>(&place), sizeof place) ||
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
      !sendAll(socket, &hello, sizeof hello)) {
    problem = withErrno("cannot meet the other ranks");
    if (socket >= 0)
      ::close(socket);
    return nullptr;
  }
  return std::unique_ptr<Rendezvous>(new Rendezvous(socket, numRanks));
}

Rendezvous::~Rendezvous() { ::close(socket); }

bool Rendezvous::gather(const void *mine, void *all, size_t bytes) {
  return sendAll(socket, &bytes, sizeof bytes) &&
         sendAll(socket, mine, bytes) &&
         receiveAll(socket, all, bytes * numRanks);
}

std::vector<std::string> Rendezvous::gatherText(const std::string &mine) {
  constexpr size_t most = 512;
  std::vector<char> word(most), all(most * numRanks);
  std::strncpy(word.data(), mine.c_str(), most - 1);
  if (!gather(word.data(), all.data(), most))
    return {};
  std::vector<std::string> words;
  for (int rank = 0; rank < numRanks; ++rank)
    words.emplace_back(&all[rank * most]);
  return words;
}
