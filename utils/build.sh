#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, configures and builds into build/ (or $SCCL_BUILD).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SCCL_BUILD:-$root/build}

bash "$root/utils/install-packages.sh"
echo "build: configuring $build"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release
echo "build: compiling (about 10 minutes on 2 cores the first time)"
ninja -C "$build"
