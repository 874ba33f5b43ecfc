# shellcheck shell=bash
# For the benches that run a whole scan: builds the programs, and makes a folder that goes
# afterwards. Sets `built` and `folder`.
mkdir -p "$target"
# Beside what is built, not in /tmp, which may be memory.
folder="$(mktemp -d "$target/bench-XXXXXX")"
# Postgres runs as another user.
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT

build_bench --package everytab-worker --bin everytab-worker
build_bench --package everytab-postgres --bin with-postgres

# Fails unless the scan in a folder of data published the tabs of a third of so many hosts at least:
# of every mix more than half can be had.
expect_tabs() {
    local tabs
    tabs="$(grep -o '"hosts": *[0-9]*' "$1/site/manifest.json" | grep -o '[0-9]*$')"
    [ "$tabs" -ge $(($2 / 3)) ] || die "$tabs tabs of $2 hosts"
}
