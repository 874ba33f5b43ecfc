# shellcheck shell=bash
# For scripts that fetch icons from the program icon-track: builds both programs, and starts the
# calling script again in a separate network namespace, where 127.0.0.1 resolves names. Sets
# `programs`, and `folder` to target/NAME, which is kept. Needs permission to create namespaces, and
# does not use any other network.
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
# Allow as many concurrent connections as a test of this size needs.
echo 65536 >/proc/sys/net/ipv4/tcp_max_syn_backlog
