# shellcheck shell=bash
# For benchmarks that run a whole scan: builds the programs, and creates a directory that is deleted
# at the end. Sets `built` and `folder`.
mkdir -p "$target"
# /tmp may be in memory.
folder="$(mktemp -d "$target/bench-XXXXXX")"
# Postgres runs as another user, who must be able to read this directory.
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT

build_bench --package everytab-worker --bin everytab-worker
build_bench --package everytab-postgres --bin with-postgres

# Fails unless the scan in a data directory published tabs for at least a third of this many
# hosts. In each mix, more than half of the hosts can be fetched.
expect_tabs() {
    local tabs
    tabs="$(grep -o '"hosts": *[0-9]*' "$1/site/manifest.json" | grep -o '[0-9]*$')"
    [ "$tabs" -ge $(($2 / 3)) ] || die "$tabs tabs of $2 hosts"
}
