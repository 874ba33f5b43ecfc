# shellcheck shell=bash
# Scripts source this file first. It sets strict mode, changes to the repository's root, and defines
# shared variables and functions.
set -euo pipefail
self="$(realpath "$0")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prefix of messages: bench-icons for scripts/bench/icons.sh, demo for scripts/demo/demo.sh.
me="$(basename "$(dirname "$self")")-$(basename "$self" .sh)"
[ "${me%%-*}" != "${me#*-}" ] || me="${me#*-}"
# Cargo builds and scripts store their files here.
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
# Recorded pages, icons and archives. They belong to their owners, so no repository contains
# them.
corpus="${EVERYTAB_CORPUS:-../shared/corpus}"

# Cargo features of everytab-worker for the fleet's hosts, for operators and for the demo.
fleet_features=cloudfront,crawl,ec2,https,otlp,s3,scan
local_features="$fleet_features,local"
demo_features=https,local

have() { command -v "$1" >/dev/null 2>&1; }
say() { echo "$me: $*" >&2; }
die() {
    say "$*"
    exit 1
}

# Sets `built` to the directory with a benchmark's programs, and builds them in release mode
# with these cargo options. If BUILT is set, it is a directory that already contains them.
build_bench() {
    built="${BUILT:-$target/release}"
    [ -n "${BUILT:-}" ] || cargo build --release --quiet --locked "$@"
}

# Exits with status 0 if a part of the corpus is missing.
need_corpus() {
    local part="$corpus${1:+/$1}"
    [ ! -d "$part" ] || return 0
    say "skipped: no corpus at $part (EVERYTAB_CORPUS)"
    exit 0
}

circumstances() {
    echo "$(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg)," \
        "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
}

# Replaces this process with a command in separate namespaces: it has no network except
# loopback, and its processes end with it. This does not need root if users may create
# namespaces.
in_namespace() {
    local root=()
    [ "$(id -u)" = 0 ] || root=(--map-root-user)
    exec unshare "${root[@]+"${root[@]}"}" --net --mount --pid --fork --kill-child --mount-proc "$@"
}

# Sets up the network in a namespace. The argument is a directory that outlives the namespace.
make_network() {
    ip link set lo up
    echo 'nameserver 127.0.0.1' >"$1/resolv.conf"
    mount --bind "$1/resolv.conf" /etc/resolv.conf
    echo '10000 60999' >/proc/sys/net/ipv4/ip_local_port_range
    ulimit -n "$(ulimit -Hn)"
}
