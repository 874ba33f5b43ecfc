#!/usr/bin/env bash
# Measures reading the corpus' home pages on one core and on all cores: our program, a plain Go
# program, FastWARC with Resiliparse, and only decompressing the same records.
#
#   RUNS=5 REPEAT=10 CORE=0 CORES=2 scripts/bench/pages.sh
#
# On all cores, the Go program runs once with one worker per core, and the others run once per core.
# Prints medians of RUNS alternating runs in CPU time. Programs that are not installed are skipped.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

runs="${RUNS:-5}"
repeat="${REPEAT:-10}"
need_corpus

build_bench --package everytab-webpage --example read_pages
ours="$built/examples/read_pages"
folder="$target/bench-pages"
mkdir -p "$folder"
"$ours" list "$(realpath "$corpus")" >"$folder/list.tsv"

# shellcheck source=scripts/bench/peers.sh
. scripts/bench/peers.sh
go_peer
python_with fastwarc==2.0.1 resiliparse==2.0.1

TIMEFORMAT='%R %U %S'
noted() {
    awk '{ print $1, $2 + $3 }' >>"$folder/$1.times"
}
on_one() {
    local name="$1"
    shift
    { time taskset --cpu-list "${CORE:-0}" "$@" >/dev/null 2>"$folder/$name.said"; } 2>&1 |
        noted "$name"
}
on_all() {
    local name="$1.all" processes="$2"
    shift 2
    { time {
        for _ in $(seq "$processes"); do "$@" >/dev/null 2>"$folder/$name.said" & done
        wait
    }; } 2>&1 | noted "$name"
}

cores="${CORES:-$(nproc)}"
rm -f "$folder"/*.times
for _ in $(seq "$runs"); do
    on_one inflate "$ours" inflate "$folder/list.tsv" "$repeat"
    on_one ours "$ours" pages "$folder/list.tsv" "$repeat"
    [ -z "$go" ] || GOMAXPROCS=1 on_one go "$go" pages -workers 1 -repeat "$repeat" -quiet \
        "$folder/list.tsv"
    [ -z "$python" ] ||
        on_one resiliparse "$python" scripts/bench/read_pages.py "$folder/list.tsv" 2

    on_all inflate "$cores" "$ours" inflate "$folder/list.tsv" "$repeat"
    on_all ours "$cores" "$ours" pages "$folder/list.tsv" "$repeat"
    [ -z "$go" ] || GOMAXPROCS="$cores" on_all go 1 "$go" pages -workers "$cores" \
        -repeat "$((repeat * cores))" -quiet "$folder/list.tsv"
    [ -z "$python" ] || on_all resiliparse "$cores" "$python" scripts/bench/read_pages.py \
        "$folder/list.tsv" 2
done

pages="$(wc -l <"$folder/list.tsv")"
for name in ours ours.all; do
    tail -n 1 "$folder/$name.said" | grep -q "^pages=$((pages * repeat)) " ||
        die "$name: not $pages pages, $repeat times: $(tail -n 1 "$folder/$name.said")"
done
echo "$me: $pages pages, medians of $runs, $(circumstances)"
table() {
    local suffix="$1" times="$2" name file rounds
    printf '%-12s %12s %14s %12s\n' "$3" 'pages/s' 'pages/CPU s' 'us CPU/page'
    for name in inflate ours go resiliparse; do
        file="$folder/$name$suffix"
        [ -s "$file.times" ] || continue
        rounds=$repeat
        [ "$name" != resiliparse ] || rounds=2
        awk -v name="$name" -v pages="$((pages * rounds * times))" \
            -v wall="$(cut -d ' ' -f 1 "$file.times" | median)" \
            -v cpu="$(cut -d ' ' -f 2 "$file.times" | median)" 'BEGIN {
            printf "%-12s %12.0f %14.0f %12.1f\n", \
                name, pages / wall, pages / cpu, cpu / pages * 1e6
        }'
        tail -n 1 "$file.said" | sed 's/^/    /'
    done
}
table '' 1 'one core'
table .all "$cores" "$cores cores"
