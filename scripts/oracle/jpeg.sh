#!/usr/bin/env bash
# Compares EveryTab's decoded JPEGs with libjpeg-turbo's (scripts/oracle/jpeg.mjs). Writes
# target/jpeg-oracle.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

for program in cjpeg djpeg node; do
    have "$program" || die "$program is missing: apt install libjpeg-turbo-progs nodejs"
done

cargo build --release --quiet --locked --package everytab-icon --example decoded_icons
folder="$target/jpeg-oracle"
rm -rf "$folder"
mkdir -p "$folder"
node scripts/oracle/jpeg.mjs write "$folder/files"
find "$folder/files" -type f | sort >"$folder/paths"
# If a decoder panics, it prints this on stderr, and the file has a result line like any other.
"$target/release/examples/decoded_icons" "$folder/paths" "$folder/ours.jsonl" 2>/dev/null
node scripts/oracle/jpeg.mjs compare "$folder/files" "$folder/ours.jsonl" |
    tee "$folder/compared.txt"
