#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes the files of a release: a tarball to unpack anywhere, the wheel, packages for Debian
# 12, and SHA256SUMS of them.
#   utils/release.sh [FOLDER [BUILT [tarball|wheel|deb...]]]
# They go to FOLDER (build/release). BUILT is a build folder to take as it is; without one
# build/ (or $SCCL_BUILD) is built. The same sources, built with the same packages, give the
# same bytes: what has a date has that of the last commit, or $SOURCE_DATE_EPOCH.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fail() {
  echo "release: error: $*" >&2
  exit 1
}
build=${2:-${SCCL_BUILD:-$root/build}}
[ $# -ge 2 ] || bash "$root/utils/build.sh" sccl-product
[ -f "$build/CPackConfig.cmake" ] || fail "$build is no build folder of sccl"
build=$(realpath "$build")
kinds=("${@:3}")
[ $# -ge 3 ] || kinds=(tarball wheel deb)

code=$(sed -n 's/^#define SCCL_VERSION_CODE //p' "$root/include/sccl/sccl.h")
version=$((code / 10000)).$((code / 100 % 100)).$((code % 100))
heading=$(grep -m1 '^## ' "$root/CHANGELOG.md")
case $heading in
"## $version (unreleased)") echo "release: a rehearsal: CHANGELOG.md has no date for $version" ;;
"## $version "*) ;;
*) fail "sccl.h says $version, CHANGELOG.md begins with '$heading'" ;;
esac
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2> /dev/null) ||
    fail "this is no git repository; set SOURCE_DATE_EPOCH to the seconds of the release"
fi
export SOURCE_DATE_EPOCH

make_tarball() {
  local name component
  name=sccl-$version-linux-$(uname -m)
  for component in libsccl dev sccl python; do
    cmake --install "$build" --prefix "$work/tree/$name" --component "$component" --strip
  done > "$work/log"
  tar -C "$work/tree" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner -cf - "$name" | gzip -n > "$work/files/$name.tar.gz"
}

make_wheel() {
  (cd "$root/python" && python3 -B -c \
    'import sys, wheelhouse; wheelhouse.build_wheel(sys.argv[1])' "$work/files")
}

make_deb() {
  local tool
  for tool in dpkg-shlibdeps file; do
    command -v "$tool" > /dev/null || fail "needs $tool; see utils/install-packages.sh"
  done
  # Of libraries that have the same symbol dpkg-shlibdeps takes the first of a hash table.
  (cd "$build" && PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 cpack -B "$work/packages") \
    > "$work/log" 2>&1 || fail "cpack: $(cat "$work/log")"
  mv "$work/packages"/*.deb "$work/files"
}

# Nobody finds half of a release.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
mkdir "$work/files"
for kind in "${kinds[@]}"; do
  case $kind in
  tarball | wheel | deb) "make_$kind" ;;
  *) fail "'$kind' is no kind of file, expected tarball, wheel or deb" ;;
  esac
done
(cd "$work/files" && sha256sum -- * > SHA256SUMS)
output=${1:-$build/release}
mkdir -p "$output"
mv "$work/files"/* "$output"
cat "$output/SHA256SUMS"
