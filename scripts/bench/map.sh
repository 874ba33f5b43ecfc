#!/usr/bin/env bash
# Draws the map of ICONS (1,000,000) generated icons with the real jobs' code and, if the corpus
# exists, of the same number of recorded icons. Prints files and bytes per level, extrapolated
# to 30 million icons. Needs about 200 bytes of disk per icon in TMPDIR.
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
