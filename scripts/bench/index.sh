#!/usr/bin/env bash
# Measures reading a columnar index file, from a directory and from an S3 endpoint on loopback: our
# reader on one thread, and DuckDB with the query that EveryTab replaces.
#
#   ROWS=11000000 RUNS=5 scripts/bench/index.sh
#
# The file is generated once, with the real schema, and sorted. Its hosts are from the corpus if
# this exists. Prints medians of RUNS alternating runs, and all programs must find the same
# captures. DuckDB does not read from S3 here, because its package does not contain this extension.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

rows="${ROWS:-11000000}"
runs="${RUNS:-5}"
hosts="$corpus/hosts/crux-sample.txt.gz"
cores="$(nproc)"

build_bench --package everytab-commoncrawl --example index_bench
build_bench --package everytab-worker --example read_index --example read_shard
one_thread="$built/examples/index_bench"
as_jobs="$built/examples/read_index"
folder="$target/bench-index"
mkdir -p "$folder"
file="$folder/$rows.parquet"
if [ ! -s "$file" ]; then
    say "writing $rows rows"
    "$one_thread" generate "$file.part" "$rows" $([ ! -f "$hosts" ] || echo "$hosts") >&2
    mv "$file.part" "$file"
fi

# shellcheck source=scripts/bench/peers.sh
. scripts/bench/peers.sh
python_with duckdb==2.0.0

export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_REGION=us-east-1
export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
printf '%s\t0\t1\n' "$file" >"$folder/list.tsv"
# The server exits when its standard input is closed. This is a pipe from this script.
coproc S3 { exec "$built/examples/read_shard" serve "$folder/list.tsv" "$folder"; }
server=$S3_PID
trap 'kill "$server" 2>/dev/null || true; rm -f "$folder"/*.times' EXIT
read -r AWS_ENDPOINT_URL <&"${S3[0]}"
export AWS_ENDPOINT_URL

measured() {
    local name="$1"
    shift
    python3 - "$@" >>"$folder/$name.times" <<'END'
import os, resource, subprocess, sys
said = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said)
END
}

rm -f "$folder"/*.times
copies=()
for number in $(seq "$cores"); do
    ln --force "$file" "$folder/copy-$number.parquet"
    copies+=("$folder/copy-$number.parquet")
done
for _ in $(seq "$runs"); do
    measured one taskset --cpu-list 0 "$one_thread" read "$file"
    [ -z "$python" ] ||
        measured duckdb taskset --cpu-list 0 "$python" scripts/bench/read_index.py 1 "$file"
    measured job "$as_jobs" "$folder" "$rows.parquet"
    measured s3 "$as_jobs" s3://corpus "$rows.parquet"
    measured jobs "$as_jobs" "$folder" "$rows.parquet" "$cores"
    [ -z "$python" ] ||
        measured duckdbs "$python" scripts/bench/read_index.py "$cores" "${copies[@]}"
done

# The file contains whole row groups, so it may have a few more rows.
read -r _ _ written captures _ <"$folder/one.times"
[ "$written" -ge "$rows" ] || die "one: the file has $written rows instead of $rows"
rows="$written"
for name in one job s3 jobs duckdb duckdbs; do
    [ -s "$folder/$name.times" ] || continue
    case "$name" in jobs | duckdbs) times="$cores" ;; *) times=1 ;; esac
    awk -v rows="$((rows * times))" -v captures="$((captures * times))" \
        '$3 != rows || $4 != captures { exit 1 }' "$folder/$name.times" ||
        die "$name: not $((rows * times)) rows and $((captures * times)) captures: $(cat \
            "$folder/$name.times")"
done

echo "$me: $(stat --format %s "$file") bytes, medians of $runs, $(circumstances)"
printf '%-28s %12s %12s %9s %10s %8s %8s\n' program 'rows/s' 'rows/CPU s' 'peak MB' captures \
    'of file' ranges
line() {
    local title="$1" times="$folder/$2.times" column=()
    [ -s "$times" ] || return 0
    for number in 1 2 5; do column+=("$(cut -d ' ' -f "$number" "$times" | median)"); done
    awk -v title="$title" -v cpu="${column[0]}" -v peak="${column[1]}" -v wall="${column[2]}" \
        'END {
            share = $6 ? sprintf("%.3f", $6 / $7) : "-"
            printf "%-28s %12.0f %12.0f %9.1f %10d %8s %8s\n", title, $3 / wall, $3 / cpu, peak,
                $4, share, $8 ? $8 : "-"
        }' "$times"
}
line 'ours, one thread' one
line 'DuckDB, one thread' duckdb
line 'ours, as a job, folder' job
line 'ours, as a job, S3' s3
line "ours, $cores jobs at once" jobs
line "DuckDB, $cores threads" duckdbs
