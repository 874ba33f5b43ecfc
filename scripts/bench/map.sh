#!/usr/bin/env bash
# Draws the map of ICONS (1,000,000) generated icons by the code of the real jobs, and, where the
# corpus is, of as many recorded ones: files and bytes of each level, extrapolated to 30 million.
# Needs about 200 bytes of disk an icon below TMPDIR; takes some minutes.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
build_bench --package everytab-worker --example map_tiles
program="$built/examples/map_tiles"
icons="${ICONS:-1000000}"
"$program" "$icons" "$folder/generated"
rm -rf "$folder/generated"
if [ -d "$corpus/icons" ]; then
    "$program" "$icons" "$folder/recorded" "$corpus"
else
    say "skipped: no corpus at $corpus"
fi
