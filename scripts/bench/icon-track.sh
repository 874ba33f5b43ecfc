# shellcheck shell=bash
# For what fetches icons from the program icon-track: builds both, and begins the calling script
# again in a network namespace of its own, where names are asked of 127.0.0.1. Sets `programs` and
# `folder`, which is target/NAME and stays. Needs the right to make namespaces; touches no other
# network.
if [ -z "${ICON_TRACK_INSIDE:-}" ]; then
    [ -n "${BUILT:-}" ] || cargo build --release --quiet --locked --package everytab-worker \
        --example fetch_icons --package everytab-testbed --bin icon-track
    export ICON_TRACK_INSIDE="$target/$me" ICON_TRACK_PROGRAMS="$target/release"
    mkdir -p "$ICON_TRACK_INSIDE"
    [ "$(id -u)" = 0 ] || root=(--map-root-user)
    exec unshare "${root[@]+"${root[@]}"}" --net --mount --pid --fork --kill-child --mount-proc \
        "$self"
fi

folder="$ICON_TRACK_INSIDE"
programs="$ICON_TRACK_PROGRAMS"
ip link set lo up
echo 'nameserver 127.0.0.1' >"$folder/resolv.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
# As many connections at once as a test of this size needs, on either side.
echo 65536 >/proc/sys/net/ipv4/tcp_max_syn_backlog
echo '10000 60999' >/proc/sys/net/ipv4/ip_local_port_range
ulimit -n "$(ulimit -Hn)"
