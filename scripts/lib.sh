# shellcheck shell=bash
# Every script sources this first: strict mode, the repository's root as working folder, and the
# names that several scripts use.
set -euo pipefail
self="$(realpath "$0")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What messages begin with: bench-icons for scripts/bench/icons.sh, demo for scripts/demo/demo.sh.
me="$(basename "$(dirname "$self")")-$(basename "$self" .sh)"
[ "${me%%-*}" != "${me#*-}" ] || me="${me#*-}"
# Where cargo builds, and scripts keep what they make.
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
# Recorded pages, icons and archives; they belong to their owners and are in no repository.
corpus="${EVERYTAB_CORPUS:-../shared/corpus}"

# Cargo features of everytab-worker: of a machine of the fleet, of an operator's, and of the demo's.
fleet_features=cloudfront,crawl,ec2,https,otlp,s3,scan
local_features="$fleet_features,local"
demo_features=https,local

have() { command -v "$1" >/dev/null 2>&1; }
say() { echo "$me: $*" >&2; }
die() {
    say "$*"
    exit 1
}

# Sets `built` to the folder of a bench's programs, which these options of cargo build optimised.
# BUILT is a folder that has them already: make bench-smoke runs those of the tests.
build_bench() {
    built="${BUILT:-$target/release}"
    [ -n "${BUILT:-}" ] || cargo build --release --quiet --locked "$@"
}

# Ends the script well where a part of the corpus that it needs is missing.
need_corpus() {
    local part="$corpus${1:+/$1}"
    [ ! -d "$part" ] || return 0
    say "skipped: no corpus at $part (EVERYTAB_CORPUS)"
    exit 0
}

# One line that says where and when a measurement was made.
circumstances() {
    echo "$(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg)," \
        "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
}

# Goes on with a command in a namespace of its own: no network but loopback, processes that end with
# it. Not as root, where the system lets users have such namespaces.
in_namespace() {
    local root=()
    [ "$(id -u)" = 0 ] || root=(--map-root-user)
    exec unshare "${root[@]+"${root[@]}"}" --net --mount --pid --fork --kill-child --mount-proc "$@"
}

# Makes the network of a namespace: names are asked of 127.0.0.1, and many connections are possible.
# The argument is a folder that outlives it.
make_network() {
    ip link set lo up
    echo 'nameserver 127.0.0.1' >"$1/resolv.conf"
    mount --bind "$1/resolv.conf" /etc/resolv.conf
    echo '10000 60999' >/proc/sys/net/ipv4/ip_local_port_range
    ulimit -n "$(ulimit -Hn)"
}
