#!/usr/bin/env bash
# Compares icon files with Chromium's rendering at 32x32 device pixels: shown or not, blank or not,
# and the pixels. Uses the network outside this host only to download sets, once.
#
#   scripts/oracle/icons.sh [--sets NAMES] [--sample N] [--seed S] [--jobs N] [--cache FOLDER]
#                           [FOLDER...]
#
# Compares the files below each FOLDER and in the sets NAMES: names in
# scripts/oracle/icons-sets.lock separated by commas, or svg, raster or all. Without FOLDER and
# NAMES, compares the corpus' icons. --sample compares N files of each kind in a directory or set,
# chosen by S. Chromium's results are cached in --cache (target/icons-oracle/cache), so an
# interrupted run can resume. --jobs is the number of concurrent browsers (1).
#
# Writes target/icons-oracle: compared.txt, which is also printed, and differing.tsv with a line for
# each file that differs. Fails if a difference has no name in icons-reasons.mjs: only one program
# shows a file, or pixels are more than 10 of 255 levels apart. Also fails if less than 99 % of the
# rasters without a name are decoded within 3 levels.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$target/icons-oracle"
sets=
sample=0
seed=1
jobs=1
cache="$folder/cache"
folders=()
while [ $# -gt 0 ]; do
    case "$1" in
        --sets | --sample | --seed | --jobs | --cache)
            [ $# -gt 1 ] || die "$1 needs a value"
            declare "${1#--}=$2"
            shift
            ;;
        -*) die "unknown option $1: see the comment at the start of $0" ;;
        *)
            [ -d "$1" ] || die "no such directory: $1"
            folders+=("$(basename "$(realpath "$1")")=$(realpath "$1")")
            ;;
    esac
    shift
done
[[ $sample =~ ^[0-9]+$ ]] || die "--sample needs a number, 0 for all files"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs needs a number of at least 1"
if [ -z "$sets" ] && [ ${#folders[@]} -eq 0 ]; then
    need_corpus icons
    folders=("corpus=$(realpath "$corpus/icons")")
fi
have chromium || have chromium-browser || have google-chrome || have chromium-headless-shell ||
    [ -n "${EVERYTAB_CHROMIUM:-}" ] || {
    say "skipped: no chromium is installed"
    exit 0
}

if [ -n "$sets" ]; then
    IFS=, read -ra wanted <<<"$sets"
    scripts/install/icons-oracle.sh "${wanted[@]}"
    while IFS=$'\t' read -r name of _ _ version _; do
        case ",$sets," in
            *",$name,"* | *",$of,"* | *,all,*) folders+=("$name=$folder/sets/$name-$version") ;;
        esac
    done < <(grep -v '^#' scripts/oracle/icons-sets.lock)
fi

cargo build --release --quiet --locked --package everytab-icon --example decoded_icons
ours="$target/release/examples/decoded_icons"
mkdir -p "$folder"
node scripts/oracle/icons-files.mjs "$folder/files.tsv" "$sample" "$seed" "${folders[@]}"
key="$(node scripts/oracle/icons.mjs "$folder/files.tsv" "$cache" "$jobs")"

# If a decoder panics, it prints this on stderr, and the file has a result line like any other.
cut -f 5 "$folder/files.tsv" >"$folder/paths"
"$ours" "$folder/paths" "$folder/ours.jsonl" 2>/dev/null
cut -f 4 "$folder/files.tsv" | sort -u | while read -r sha256; do
    for kind in managed raw; do
        picture="$cache/$key/$kind/$sha256.png"
        [ ! -e "$picture" ] || echo "$picture"
    done
done >"$folder/paths"
"$ours" "$folder/paths" "$folder/pictures.jsonl"
node scripts/oracle/icons-compare.mjs "$folder" "$cache" "$key" | tee "$folder/compared.txt"
