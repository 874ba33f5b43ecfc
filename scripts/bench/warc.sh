#!/usr/bin/env bash
# Measures a warc job's path from a store to rows: the corpus' home pages, each read by its byte
# range, from a directory and from an S3 endpoint in another process on loopback, with and without
# TLS.
#
#   RUNS=5 REPEAT=20 scripts/bench/warc.sh
#
# Prints medians of RUNS alternating runs. The server's CPU time is separate, and shows that the
# reader does not wait for the server. "understood" is the same pages from memory on one thread,
# without a job.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

runs="${RUNS:-5}"
repeat="${REPEAT:-20}"
need_corpus
corpus="$(realpath "$corpus")"

build_bench --package everytab-webpage --example read_pages
build_bench --package everytab-worker --example read_shard
read_pages="$built/examples/read_pages"
read_shard="$built/examples/read_shard"
folder="$(mktemp -d "$target/bench-warc-XXXXXX")"
list="$folder/list.tsv"
"$read_pages" list "$corpus" >"$list"

# A server exits when its standard input is closed. This is a pipe from this script.
coproc HTTP { exec "$read_shard" serve "$list" "$corpus"; }
http_pid=$HTTP_PID
read -r http <&"${HTTP[0]}"
mkfifo "$folder/hold"
"$read_shard" serve "$list" "$corpus" https <"$folder/hold" >"$folder/https" &
https_pid=$!
exec {hold}>"$folder/hold"
trap 'kill "$http_pid" "$https_pid" 2>/dev/null || true; rm -rf "$folder"' EXIT
until [ -s "$folder/https" ]; do sleep 0.1; done
https="$(cat "$folder/https")"

export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_REGION=us-east-1
export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
export SSL_CERT_FILE="$list.pem"

TIMEFORMAT='%R %U %S'
# Prints a process's CPU time in hundredths of a second.
ticks() {
    [ "$1" = none ] || awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"
}
noted() {
    local name="$1" server="$2" before
    shift 2
    before="$(ticks "$server")"
    "$@" >"$folder/said"
    awk -v ticks="$(($(ticks "$server") + 0 - before))" '{ print $1, $2, $3, ticks / 100 }' \
        "$folder/said" >>"$folder/$name.times"
    cut -d ' ' -f 4- "$folder/said" >"$folder/$name.said"
}
understood() {
    local took
    took="$({ time "$read_pages" pages "$list" "$repeat" 2>"$folder/pages"; } 2>&1)"
    awk -v took="$took" '{
        split(took, time, " ")
        sub(/pages=/, "")
        print time[1], time[2] + time[3], $1, $3
    }' "$folder/pages"
}
for _ in $(seq "$runs"); do
    noted understood none understood
    noted folder none "$read_shard" read "$list" "$corpus" "$corpus" "$repeat"
    AWS_ENDPOINT_URL="$http" noted s3-http "$http_pid" \
        "$read_shard" read "$list" "$corpus" s3://corpus "$repeat"
    AWS_ENDPOINT_URL="$https" noted s3-https "$https_pid" \
        "$read_shard" read "$list" "$corpus" s3://corpus "$repeat"
    noted web-http "$http_pid" "$read_shard" read "$list" "$corpus" "$http/corpus" "$repeat"
    noted web-https "$https_pid" "$read_shard" read "$list" "$corpus" "$https/corpus" "$repeat"
done

column() {
    cut -d ' ' -f "$1" "$2" | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}
for name in s3-http s3-https web-http web-https; do
    cmp -s "$folder/folder.said" "$folder/$name.said" ||
        die "$name: $(cat "$folder/$name.said"), but from a folder $(cat "$folder/folder.said")"
done
echo "$me: medians of $runs, $(circumstances)"
printf '%-12s %10s %14s %14s %16s\n' store 'pages/s' 'us CPU/page' 'beyond pages' 'server us/page'
pages_alone=0
for name in understood folder s3-http s3-https web-http web-https; do
    times="$folder/$name.times"
    row="$(awk -v name="$name" -v wall="$(column 1 "$times")" -v cpu="$(column 2 "$times")" \
        -v pages="$(column 3 "$times")" -v server="$(column 4 "$times")" -v alone="$pages_alone" \
        'BEGIN {
            each = cpu / pages * 1e6
            printf "%-12s %10.0f %14.1f %14.1f %16.1f\n", \
                name, pages / wall, each, alone ? each - alone : 0, server / pages * 1e6
        }')"
    [ "$name" != understood ] || { pages_alone="$(awk '{ print $3 }' <<<"$row")"; }
    echo "$row    $(cat "$folder/$name.said")"
done
