//===- Rendezvous.cpp - How ranks with one unique id meet -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rendezvous.h"

#include <cerrno>
#include <cstring>
#include <functional>
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

static std::string systemError(const char *what) {
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

static bool awaitReadable(int socket, int milliseconds) {
  pollfd entry = {socket, POLLIN, 0};
  return ::poll(&entry, 1, milliseconds) > 0;
}

namespace {
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
    bool isComplete = accept();
    // Whoever comes later would wait for ever: an id is for one communicator.
    stopListening();
    while (isComplete && serveGather())
      ;
  }

private:
  void stopListening() {
    if (listener >= 0)
      ::close(listener);
    listener = -1;
  }

  bool accept() {
    size_t missing = 1;
    while (missing > 0) {
      if (!awaitReadable(listener, 300000))
        return false;
      int socket = ::accept(listener, nullptr, nullptr);
      Hello hello;
      // Whoever does not know the secret is none of the ranks.
      if (socket < 0 || !awaitReadable(socket, 5000) ||
          !receiveAll(socket, &hello, sizeof hello) || hello.secret != secret ||
          hello.numRanks < 1 || hello.rank < 0 ||
          hello.rank >= hello.numRanks) {
        if (socket >= 0)
          ::close(socket);
        continue;
      }
      if (sockets.empty()) {
        sockets.assign(hello.numRanks, -1);
        missing = hello.numRanks;
      }
      // A rank that is taken, or of another group: all fail.
      if (size_t(hello.numRanks) != sockets.size() ||
          sockets[hello.rank] != -1) {
        ::close(socket);
        return false;
      }
      sockets[hello.rank] = socket;
      --missing;
    }
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
  std::vector<int> sockets;
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
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0)
    return systemError("socket");
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = address.address;
  socklen_t size = sizeof place;
  auto *name = reinterpret_cast<sockaddr *>(&place);
  if (::bind(listener, name, size) || ::listen(listener, 4096) ||
      ::getsockname(listener, name, &size)) {
    std::string problem = systemError("cannot listen for ranks");
    ::close(listener);
    return problem;
  }
  address.port = place.sin_port;
  auto server = std::make_unique<Server>(listener, address.secret);
  pthread_t thread;
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
    problem = systemError("cannot meet the other ranks");
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
