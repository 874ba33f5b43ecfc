#!/usr/bin/env bash
# Prints the path of an archive with a small Debian, target/infra/base-SUITE.tar, for the machines
# and containers that are made here. The first run makes it with debootstrap (as root). SUITE is
# trixie (Debian 13) or bookworm (Debian 12).
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$target/infra"
suite="${SUITE:-trixie}"
base="$folder/base-$suite.tar"
if [ ! -f "$base" ]; then
    say "making $base (once)"
    mkdir -p "$folder"
    work="$(mktemp -d /var/tmp/everytab-debian.XXXXXX)"
    trap 'rm -rf --one-file-system "$work"' EXIT
    # An older debootstrap has no script for the newest suite, but sid's script works for it.
    script="/usr/share/debootstrap/scripts/$suite"
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
    debootstrap --variant=minbase \
        --include=ca-certificates,dbus,iproute2,procps,python3,systemd,systemd-sysv \
        "$suite" "$work/root" http://deb.debian.org/debian "$script" \
        >"$work/log" 2>&1 || { tail "$work/log" >&2; exit 1; }
    tar -C "$work/root" -cf "$base.new" .
    mv "$base.new" "$base"
fi
echo "$base"
