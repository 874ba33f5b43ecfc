#!/usr/bin/env bash
# Prints the name of an archive of a small Debian, made by debootstrap the first time (root), for
# machines and containers made here: target/infra/base-SUITE.tar. SUITE is trixie (Debian 13) or
# bookworm (Debian 12).
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
    # An older debootstrap does not know the newest suite, which is made as any other.
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
