#!/usr/bin/env bash
# Compares icon files with what Chromium shows of them at 32x32 device pixels: shown or not, blank
# or not, and the pixels. Nothing leaves the machine, but that sets are downloaded once.
#
#   scripts/oracle/icons.sh [--sets NAMES] [--sample N] [--seed S] [--jobs N] [--cache FOLDER]
#                           [FOLDER...]
#
# The files are those below each FOLDER and of the sets NAMES, which are names of
# scripts/oracle/icons-sets.lock with commas between them, or svg, raster or all; the corpus' icons
# where neither is given. Of each kind of a folder or set N files are compared, chosen by S, or all.
# Chromium shows a file once for each version of it: what it showed is kept in --cache
# (target/icons-oracle/cache), by which an interrupted run also goes on. --jobs is how many browsers
# work at once (1).
#
# Writes target/icons-oracle: compared.txt, which it prints, and differing.tsv, a line for each file
# that differs. Fails if a difference has no name in icons-reasons.mjs: a file that one side alone
# shows, or pixels more than 10 levels of 255 apart; or if less than 99 % of the rasters without a
# name are decoded within 3 levels.
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
        -*) die "no option is called $1 (the head of $0 lists them)" ;;
        *)
            [ -d "$1" ] || die "no folder: $1"
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

# A decoder that panics says so on stderr, and its file is a line like any other.
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
