#!/usr/bin/env bash
# Fetches icons for a long time from a small internet that changes under way, and shows that neither
# memory, open files nor tasks grow: in a network namespace of its own, at full concurrency.
#
#   MINUTES=30 IN_FLIGHT=5000 URLS=40000 HOSTS=16000 scripts/soak-icons.sh
#
# The servers are killed and come back as another internet every CHANGE seconds (45): names that
# answered at once then do not connect, never finish, or speak no TLS, and back. One line a minute;
# the last say what the last third held at most beside the second, and it fails where that grew by
# more than a fifth.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes="${MINUTES:-30}"
in_flight="${IN_FLIGHT:-5000}"
urls="${URLS:-40000}"
hosts="${HOSTS:-16000}"
change="${CHANGE:-45}"

if [ -z "${SOAK_ICONS_INSIDE:-}" ]; then
    cargo build --release --quiet --locked --package everytab-worker --example fetch_icons \
        --package everytab-testbed --bin icon-track
    target="$(realpath "${CARGO_TARGET_DIR:-target}")"
    mkdir -p "$target/soak-icons"
    export SOAK_ICONS_INSIDE="$target/soak-icons" SOAK_ICONS_PROGRAMS="$target/release"
    [ "$(id -u)" = 0 ] || root=(--map-root-user)
    exec unshare "${root[@]+"${root[@]}"}" --net --mount --pid --fork --kill-child --mount-proc "$0"
fi

folder="$SOAK_ICONS_INSIDE"
programs="$SOAK_ICONS_PROGRAMS"
ip link set lo up
echo 'nameserver 127.0.0.1' >"$folder/resolv.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
echo 65536 >/proc/sys/net/ipv4/tcp_max_syn_backlog
echo '10000 60999' >/proc/sys/net/ipv4/ip_local_port_range
ulimit -n "$(ulimit -Hn)"

plan=(--hosts "$hosts" --urls "$urls")
"$programs/icon-track" list --scenario mix "${plan[@]}" >"$folder/urls.txt"
internet() {
    while true; do
        for scenario in plain mix tls mix; do
            "$programs/icon-track" serve --scenario "$scenario" "${plan[@]}" >"$folder/track.said" &
            track=$!
            sleep "$change"
            kill -9 "$track"
            wait "$track" 2>/dev/null || true
        done
    done
}
internet &
until grep -qs ready "$folder/track.said"; do sleep 0.1; done
"$programs/examples/fetch_icons" "$folder/urls.txt" in_flight="$in_flight" spool="$folder" \
    minutes="$minutes"
