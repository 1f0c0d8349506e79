#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the packages of `cpack` on a bare Debian 12, in a folder of its own, and tries
# the tool, a C program by pkg-config, and the Python package there. As root:
#   utils/check-packages.sh FOLDER-OF-DEBS [BARE-DEBIAN]
# BARE-DEBIAN is made with debootstrap if it is not there.
set -euo pipefail
debs=$(realpath "$1")
bare=${2:-$(mktemp -d)/debian}
fail() {
  echo "check-packages: error: $*" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || fail "needs root"
ls "$debs"/sccl_*.deb > /dev/null || fail "no packages in $debs; run cpack"
if [ ! -d "$bare/usr" ]; then
  command -v debootstrap > /dev/null || fail "needs debootstrap"
  debootstrap --variant=minbase bookworm "$bare" http://deb.debian.org/debian
fi
# LLVM 22 is in bookworm-security.
cat > "$bare/etc/apt/sources.list" <<'SOURCES'
deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian-security bookworm-security main
SOURCES
cp /etc/resolv.conf "$bare/etc/resolv.conf"
cp "$debs"/*.deb "$(dirname "$0")/../docs/examples/threads.py" "$bare/root/"
cat > "$bare/root/try.c" <<'SOURCE'
#include <sccl/sccl.h>
#include <stdio.h>
int main(void) {
  int version = 0;
  printf("scclGetVersion: %d", scclGetVersion(&version));
  printf(", %d\n", version);
  return version != SCCL_VERSION_CODE;
}
SOURCE
cat > "$bare/root/try.sh" <<'SCRIPT'
set -eux
export DEBIAN_FRONTEND=noninteractive SCCL_CACHE_HOME=/root/cache
apt-get -q update
apt-get -q install -y --no-install-recommends /root/*.deb gcc libc6-dev pkg-config
sccl --version
sccl synth --machine=line:2 --collective=all_reduce --chunks=2 --steps=2 --rounds=2 -o /root/pair.mlir
sccl compile /root/pair.mlir --target=host -o /root/pair.sccl
sccl run /root/pair.mlir
gcc /root/try.c -o /root/try $(pkg-config --cflags --libs sccl)
/root/try
python3 /root/threads.py libsccl.so.0 /root/pair.sccl
cd /
python3 -m sccl.doctor
test -s /usr/share/man/man1/sccl.1 -o -s /usr/share/man/man1/sccl.1.gz
SCRIPT
mount -t proc proc "$bare/proc"
trap 'umount "$bare/proc"' EXIT
chroot "$bare" bash /root/try.sh
echo "check-packages: the packages install and work"
