#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the Debian packages that sccl builds and tests with. Does nothing, and
# needs neither root nor network, if all of them are there.
set -euo pipefail

packages=(
  # build
  ca-certificates g++ cmake ninja-build ccache git
  # LLVM/MLIR 22: the compiler, FileCheck, lit (a Python program), ld.lld
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22 zlib1g-dev python3
  # synthesis engines, bounds and symmetry
  libz3-dev libcadical-dev coinor-libclp-dev coinor-libcbc-dev libbliss-dev libgmp-dev
  # machines from files and from the host
  libpugixml-dev libjsoncpp-dev libprotozero-dev libhwloc-dev
  # optional: ranks that mpirun starts, and what libsccl is compared with
  pkg-config openmpi-bin libopenmpi-dev mpich libmpich-dev
  # optional: ranks on several hosts without MPI
  libucx-dev
  # optional: kernels that call NCCL's device functions run in tests
  clang-22
  # packages of a release
  dpkg-dev file
  # the formatter that the sources are written by
  clang-format-14
  # unit tests and benchmarks
  libgtest-dev libgmock-dev libbenchmark-dev
)

fail() {
  echo "install-packages: error: $*" >&2
  exit 1
}

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-packages: all ${#packages[@]} packages are installed"
  exit 0
fi

command -v apt-get >/dev/null || fail "there is no apt-get: this script is for Debian 12; elsewhere install ${missing[*]}"
. /etc/os-release 2>/dev/null || fail "cannot read /etc/os-release"
[ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ] ||
  echo "install-packages: warning: made for Debian 12, this is ${PRETTY_NAME:-unknown}" >&2
[ "$(id -u)" = 0 ] || fail "installing needs root (missing: ${missing[*]}); run it with sudo"

echo "install-packages: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -q update || fail "apt-get update failed; is there a network, and are Debian's bookworm and bookworm-security in the sources?"
apt-get -q install -y --no-install-recommends "${missing[@]}" ||
  fail "apt-get install failed; LLVM 22 is in bookworm-security"
