#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, configures build/ (or $SCCL_BUILD), and builds TARGETs there:
#   utils/build.sh [TARGET...]
# Without one it builds everything; sccl-product is what `cmake --install` and packages need.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SCCL_BUILD:-$root/build}

bash "$root/utils/install-packages.sh"
echo "build: configuring $build"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON
echo "build: compiling"
ninja -C "$build" "$@"
