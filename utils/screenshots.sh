#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes the pictures of docs/Report.md anew, with Chromium and rsvg-convert.
#
# usage: screenshots.sh [BUILD-DIR]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
sccl=${1:-$root/build}/bin/sccl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$sccl" pareto --machine=dgx1 --collective=all_gather -o "$work/ag" > "$work/frontier.txt"
"$sccl" report "$work/ag" -o "$work/report.html"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=2000 \
  --window-size=1300,1750 --screenshot="$root/docs/report.png" "file://$work/report.html#1,1"

"$sccl" plot "$work/ag/all_gather_c6_s3_r7.mlir" --picture=machine -o "$root/docs/machine.png"
"$sccl" plot "$work/ag" --picture=frontier -o "$root/docs/frontier.png"
"$sccl" plot "$work/ag" --picture=time -o "$root/docs/time.png"
