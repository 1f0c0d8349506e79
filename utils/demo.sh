#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# README's first command: install, build, and run the main job.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SCCL_BUILD:-$root/build}
bash "$root/utils/build.sh" sccl-product
"$build/bin/sccl" demo -o "$build/demo"
