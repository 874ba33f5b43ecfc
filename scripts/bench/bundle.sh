#!/usr/bin/env bash
# Measures how long it takes to turn the corpus' icons into bundles on one core: our program with
# each choice of colours, a plain Go program, and Pillow. Then measures our program and Go on all
# cores.
#
#   RUNS=5 REPEAT=3 CORE=0 scripts/bench/bundle.sh
#
# There are two lists: every icon that both our program and the peer decode (mix), and those with at
# most 64 pixels in width and height (small). Each icon occurs REPEAT times in a list. Our program
# reads each icon from its own file, or all icons from one file (one-file). Prints medians of RUNS
# alternating runs in CPU time, which is more reliable than wall time on a shared host. Programs
# that are not installed are skipped.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

runs="${RUNS:-5}"
repeat="${REPEAT:-3}"
need_corpus icons

build_bench --package everytab-bundler --example make_bundles
ours="$built/examples/make_bundles"
folder="$target/bench-bundle"
mkdir -p "$folder"
"$ours" list "$(realpath "$corpus")" >"$folder/all.tsv"

# shellcheck source=scripts/bench/peers.sh
. scripts/bench/peers.sh
go_peer
python_with pillow==13.0.0

# The peer crashes on some icons, and one makes it allocate gigabytes, so we try each icon
# separately, once.
tried="$folder/tried.tsv"
if [ -n "$go" ] && ! [ "$tried" -nt "$go" ]; then
    say "finding the icons that the peer decodes"
    : >"$tried.new"
    while IFS= read -r line; do
        printf '%s\n' "$line" >"$folder/one.tsv"
        if said="$(timeout 2 "$go" bundles -workers 1 "$folder/one.tsv" 2>&1)" &&
            [[ "$said" == *undecodable=0* ]]; then
            printf '%s\n' "$line" >>"$tried.new"
        fi
    done <"$folder/all.tsv"
    mv "$tried.new" "$tried"
fi
[ -n "$go" ] || tried="$folder/all.tsv"

rm -rf "$folder/kept"
"$ours" bundles "$tried" "$folder/kept" lossless 1 2>/dev/null
for list in all small; do
    "$ours" keep "$tried" "$folder/kept" "$list" >"$folder/kept-$list.tsv"
    for _ in $(seq "$repeat"); do cat "$folder/kept-$list.tsv"; done >"$folder/$list-repeated.tsv"
    "$ours" pack "$folder/$list-repeated.tsv" "$folder/$list.icons" >"$folder/$list-packed.tsv"
done

# Appends wall and CPU seconds to a file. The program's messages go to another file with its
# name.
TIMEFORMAT='%R %U %S'
measured() {
    local name="$1" cores="$2"
    shift 2
    rm -rf "$folder/out-$name"
    mkdir "$folder/out-$name"
    { time taskset --cpu-list "$cores" "$@" >/dev/null 2>"$folder/$name.said"; } 2>&1 |
        awk '{ print $1, $2 + $3 }' >>"$folder/$name.times"
}

one="${CORE:-0}"
every="0-$(($(nproc) - 1))"
rm -f "$folder"/*.times
for _ in $(seq "$runs"); do
    for list in all small; do
        file="$folder/$list-repeated.tsv"
        for colours in lossless auto palette; do
            measured "$list-$colours" "$one" \
                "$ours" bundles "$file" "$folder/out-$list-$colours" "$colours" 1
            measured "$list-$colours-one-file" "$one" \
                "$ours" bundles "$folder/$list-packed.tsv" "$folder/out-$list-$colours-one-file" \
                "$colours" 1 "$folder/$list.icons"
        done
        [ -z "$go" ] || GOMAXPROCS=1 measured "$list-go" "$one" \
            "$go" bundles -workers 1 -out "$folder/out-$list-go" "$file"
        [ -z "$python" ] || measured "$list-pillow" "$one" \
            "$python" scripts/bench/make_bundles.py "$folder/kept-$list.tsv" \
            "$folder/out-$list-pillow"
    done
    measured cores-auto "$every" "$ours" bundles "$folder/all-repeated.tsv" \
        "$folder/out-cores-auto" auto "$(nproc)"
    [ -z "$go" ] || measured cores-go "$every" \
        "$go" bundles -workers 20 -out "$folder/out-cores-go" "$folder/all-repeated.tsv"
done

for list in all small; do
    for colours in lossless auto palette; do
        for name in "$list-$colours" "$list-$colours-one-file"; do
            tail -n 1 "$folder/$name.said" |
                grep -q "^hosts=$(wc -l <"$folder/$list-repeated.tsv") .* refused=0 " ||
                die "$name did not convert every icon: $(tail -n 1 "$folder/$name.said")"
        done
    done
done
echo "$me: medians of $runs, $(circumstances)"
printf '%-24s %7s %10s %13s %14s\n' what icons 'hosts/s' 'hosts/CPU s' 'us CPU/host'
for name in {all,small}-{{lossless,auto,palette}{,-one-file},go,pillow} cores-{auto,go}; do
    [ -s "$folder/$name.times" ] || continue
    hosts="$(sed -E 's/.*hosts=([0-9]+) .*/\1/' <(tail -n 1 "$folder/$name.said"))"
    wall="$(cut -d ' ' -f 1 "$folder/$name.times" | median)"
    cpu="$(cut -d ' ' -f 2 "$folder/$name.times" | median)"
    awk -v name="$name" -v hosts="$hosts" -v wall="$wall" -v cpu="$cpu" 'BEGIN {
        printf "%-24s %7d %10.0f %13.0f %14.1f\n", name, hosts, hosts / wall, hosts / cpu,
            cpu / hosts * 1e6
    }'
done

# Compresses each bundle separately, as a CDN does.
compressed() {
    node -e '
        const { readdirSync, readFileSync } = require("node:fs");
        const { gzipSync, brotliCompressSync, constants } = require("node:zlib");
        const quality = (n) => ({ params: { [constants.BROTLI_PARAM_QUALITY]: n } });
        const [plain, gzip, brotli5, brotli11, tabs] = [0, 0, 0, 0, 0];
        const sums = { tabs, plain, gzip, brotli5, brotli11 };
        for (const name of readdirSync(process.argv[1])) {
            const bundle = readFileSync(`${process.argv[1]}/${name}`);
            sums.tabs += JSON.parse(bundle).entries.length;
            sums.plain += bundle.length;
            sums.gzip += gzipSync(bundle, { level: 6 }).length;
            sums.brotli5 += brotliCompressSync(bundle, quality(5)).length;
            sums.brotli11 += brotliCompressSync(bundle, quality(11)).length;
        }
        const each = (bytes) => (bytes / sums.tabs).toFixed(0).padStart(10);
        console.log(process.argv[2].padEnd(15) + each(sums.plain) + each(sums.gzip)
            + each(sums.brotli5) + each(sums.brotli11));
    ' "$1" "$2"
}
if command -v node >/dev/null; then
    printf '\n%-15s%10s%10s%10s%10s\n' 'bytes a tab' plain gzip 'brotli 5' 'brotli 11'
    for name in lossless auto palette go pillow; do
        out="$folder/out-all-$name"
        # Pillow's bundles are from the list itself, those of the other programs from the
        # repeated list.
        [ "$name" = pillow ] || { rm -rf "$out"; mkdir "$out"; }
        case "$name" in
            go) [ -z "$go" ] ||
                "$go" bundles -workers 1 -out "$out" "$folder/kept-all.tsv" 2>/dev/null ;;
            pillow) ;;
            *) "$ours" bundles "$folder/kept-all.tsv" "$out" "$name" 1 2>/dev/null ;;
        esac
        [ -n "$(ls "$out" 2>/dev/null)" ] || continue
        compressed "$folder/out-all-$name" "$name"
    done
fi

printf '\nicons of the whole corpus, '
taskset --cpu-list "$one" "$ours" sizes "$folder/all.tsv"
