#!/usr/bin/env bash
# Draws every icon in a directory next to its original, for inspection, and compares the decoded
# pictures with those from Pillow and ImageMagick.
#
#   scripts/oracle/icons-sheet.sh [FOLDER]
#
# FOLDER contains icons in directories by format. The default is the corpus' icons. Writes
# target/icons-sheet: one page per format, and merged.html with the icons whose colours a palette
# merges, the largest difference first.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

icons="${1:-$corpus/icons}"
[ $# -gt 0 ] || need_corpus icons
icons="$(realpath "$icons")"

cargo build --release --quiet --locked --package everytab-icon --example icons_sheet
ours="$target/release/examples/icons_sheet"
folder="$target/icons-sheet"
rm -rf "$folder/decoded"
mkdir -p "$folder/decoded"

browser="$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)"
for sheet in merged $(ls "$icons"); do
    "$ours" "$icons" "$folder/$sheet.html" "$sheet" 2>/dev/null
    [ -z "$browser" ] || "$browser" --headless --disable-gpu --hide-scrollbars --no-sandbox \
        --window-size=1400,3000 --screenshot="$folder/$sheet.png" "file://$folder/$sheet.html" \
        >/dev/null 2>&1 || say "no picture of $sheet.html"
done

# shellcheck source=scripts/bench/peers.sh
. scripts/bench/peers.sh
python_with pillow==13.0.0 numpy==2.4.6
# Without Python nothing is compared.
[ -n "$python" ] || exit 0
"$ours" "$icons" "$folder/decoded" decoded
"$python" scripts/oracle/compare_icons.py "$icons" "$folder/decoded" | tee "$folder/compared.txt"
say "see $folder"
