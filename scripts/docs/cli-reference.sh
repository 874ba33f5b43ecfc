#!/usr/bin/env bash
# Writes docs/cli.md from the program's help. With --check it only reports whether the file is up to
# date.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

file=docs/cli.md
# With --package cargo would compile the dependencies again with other features.
cargo build --quiet --locked --workspace --all-targets

case "${1:-}" in
    '' | --check) ;;
    *) echo "usage: scripts/docs/cli-reference.sh [--check]" >&2; exit 2 ;;
esac

new="$(mktemp)"
trap 'rm -f "$new"' EXIT
python3 scripts/docs/cli_reference.py "$target/debug/everytab-worker" >"$new"

if [ "${1:-}" = --check ]; then
    diff -u "$file" "$new" >&2 || {
        echo "$file is out of date: make docs" >&2
        exit 1
    }
else
    cat "$new" >"$file"
fi
