# shellcheck shell=bash
# For the benches that run a whole scan: builds the optimised programs, unless BUILT says that they
# are there, and makes a folder that goes afterwards. Sets `folder`.
mkdir -p "$target"
# Beside what is built, not in /tmp, which may be memory.
folder="$(mktemp -d "$target/bench-XXXXXX")"
# Postgres runs as another user.
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT

if [ -z "${BUILT:-}" ]; then
    cargo build --release --quiet --locked --package everytab-worker --bin everytab-worker
    cargo build --release --quiet --locked --package everytab-postgres --bin with-postgres
fi
