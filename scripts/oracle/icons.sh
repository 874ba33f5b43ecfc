#!/usr/bin/env bash
# Compares every icon file of a folder with what Chromium shows of it at 32x32 device pixels: shown
# or not, blank or not, and the pixels. Nothing leaves the machine.
#
#   scripts/oracle/icons.sh [FOLDER]
#
# FOLDER is the corpus' icons unless it says otherwise. Writes target/icons-oracle: what both sides
# made of each file, and compared.txt, which it prints. Fails if Chromium alone shows more than
# 0.1 % of the files, or if less than 99 % of the pictures are within 3 levels of 255; differences
# that are meant have names (icons-reasons.mjs) and are counted by them.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

icons="${1:-$corpus/icons}"
[ $# -gt 0 ] || need_corpus icons
icons="$(realpath "$icons")"
have chromium || have chromium-browser || have google-chrome || [ -n "${EVERYTAB_CHROMIUM:-}" ] || {
    say "skipped: no chromium is installed"
    exit 0
}

cargo build --release --quiet --locked --package everytab-icon --example decoded_icons
ours="$target/release/examples/decoded_icons"
folder="$target/icons-oracle"
rm -rf "$folder"
mkdir -p "$folder/pictures"

node scripts/oracle/icons.mjs "$icons" "$folder/chromium.jsonl" "$folder/pictures"
# A decoder that panics says so on stderr, and its file is a line like any other.
"$ours" "$icons" "$folder/ours.jsonl" 2>/dev/null
"$ours" "$folder/pictures" "$folder/pictures.jsonl"
node scripts/oracle/icons-compare.mjs "$icons" "$folder" | tee "$folder/compared.txt"
