#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# README's second command: install, build, and run all tests.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SCCL_BUILD:-$root/build}
bash "$root/utils/build.sh"
ninja -C "$build" check-sccl
