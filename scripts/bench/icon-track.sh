# shellcheck shell=bash
# For what fetches icons from the program icon-track: builds both, and begins the calling script
# again in a network namespace of its own, where names are asked of 127.0.0.1. Sets `programs` and
# `folder`, which is target/NAME and stays. Needs the right to make namespaces; touches no other
# network.
if [ -z "${ICON_TRACK_INSIDE:-}" ]; then
    build_bench --package everytab-worker --example fetch_icons \
        --package everytab-testbed --bin icon-track
    export ICON_TRACK_INSIDE="$target/$me" ICON_TRACK_PROGRAMS="$built"
    mkdir -p "$ICON_TRACK_INSIDE"
    in_namespace "$self"
fi

folder="$ICON_TRACK_INSIDE"
programs="$ICON_TRACK_PROGRAMS"
make_network "$folder"
# As many connections at once as a test of this size needs, on either side.
echo 65536 >/proc/sys/net/ipv4/tcp_max_syn_backlog
