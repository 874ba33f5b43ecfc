#!/usr/bin/env bash
# Prints the name of an archive of a small Debian, made by debootstrap the first time (root), for
# what is booted or put into a container here: target/infra/base-bookworm.tar.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$target/infra"
base="$folder/base-bookworm.tar"
if [ ! -f "$base" ]; then
    say "making $base (once)"
    mkdir -p "$folder"
    work="$(mktemp -d /var/tmp/everytab-debian.XXXXXX)"
    trap 'rm -rf --one-file-system "$work"' EXIT
    debootstrap --variant=minbase \
        --include=ca-certificates,dbus,iproute2,procps,python3,systemd,systemd-sysv \
        bookworm "$work/root" >"$work/log" 2>&1 || { tail "$work/log" >&2; exit 1; }
    tar -C "$work/root" -cf "$base.new" .
    mv "$base.new" "$base"
fi
echo "$base"
