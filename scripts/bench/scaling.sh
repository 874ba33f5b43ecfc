#!/usr/bin/env bash
# Measures how much faster N worker processes scan than one if latency determines the time, on a
# generated internet whose responses take 300 ms at the median and never fail.
#
#   HOSTS=3000 IN_FLIGHT=12 WORKERS="1 2 4 8" scripts/bench/scaling.sh [worker's options]
#
# Each worker has few requests in flight, so that eight workers use less than 60 % of the processor.
# Prints one line of JSON per run: the icon stage, and its steady part, in which the second to the
# eighth tenth of the icons were recorded.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

hosts="${HOSTS:-3000}"
in_flight="${IN_FLIGHT:-12}"
# shellcheck source=scripts/bench/folder.sh
. scripts/bench/folder.sh
say "$hosts hosts, $in_flight in flight a worker, $(circumstances)"

query="
with icon as (
    select leased_at, ended_at, (stats -> 'inputs' ->> 'candidates')::bigint as items
      from everytab.job_results where kind = 'icon'),
running as (
    select ended_at, sum(items) over (order by ended_at) as so_far, sum(items) over () as all_items
      from icon),
steady as (
    select min(ended_at) as begun, max(ended_at) as ended, max(so_far) - min(so_far) as items
      from running where so_far between all_items * 0.2 and all_items * 0.8)
select (select count(*) from icon), (select sum(items) from icon),
       round(extract(epoch from (select max(ended_at) - min(leased_at) from icon)), 2),
       round((select items / nullif(extract(epoch from ended - begun), 0) from steady), 1),
       round(extract(epoch from (select finished_at - started_at from everytab.runs)), 2)"

one_items='' one_icons='' one_scan='' one_steady=''
for workers in ${WORKERS:-1 2 4 8}; do
    data="$folder/$workers"
    TIMEFORMAT='%R %U %S'
    { time "$built/everytab-worker" local --sample --sample-hosts "$hosts" \
        --sample-mix none --sample-latency "${LATENCY:-300ms}" --in-flight "$in_flight" \
        --entries-per-bundle "${ENTRIES_PER_BUNDLE:-20}" --workers "$workers" --dir "$data" \
        --exit-when-done "$@" >"$folder/out" 2>"$folder/err" ||
        { tail -n 5 "$folder/err" >&2; exit 1; }; } 2>"$folder/time"
    read -r wall user system <"$folder/time"
    row="$("$built/with-postgres" --dir "$data/postgres" -- bash -c \
        'psql -X -A -t -F " " -d "${EVERYTAB_TEST_DATABASE_URL/\/postgres?//everytab?}" -c "$1"' \
        - "$query")"
    read -r shards items icons steady scan <<<"$row"
    expect_tabs "$data" "$hosts"
    [ "$items" = "${one_items:=$items}" ] || die "$items icons, with one worker $one_items"
    one_icons="${one_icons:-$icons}" one_scan="${one_scan:-$scan}"
    one_steady="${one_steady:-$steady}"
    awk -v w="$workers" -v shards="$shards" -v items="$items" -v icons="$icons" -v scan="$scan" \
        -v steady="$steady" -v wall="$wall" -v cpu="$(awk "BEGIN { print $user + $system }")" \
        -v cores="$(nproc)" -v i1="$one_icons" -v s1="$one_scan" -v r1="$one_steady" 'BEGIN {
        printf "{\"workers\": %d, \"shards\": %d, \"icons\": %d, \"icon_stage_s\": %.1f, ", \
            w, shards, items, icons
        printf "\"speed_up\": %.2f, \"efficiency\": %.3f, ", i1 / icons, i1 / icons / w
        printf "\"steady_icons_per_s\": %.1f, \"steady_efficiency\": %.3f, ", \
            steady, steady / r1 / w
        printf "\"scan_s\": %.1f, \"scan_efficiency\": %.3f, \"cpu_share\": %.2f}\n", \
            scan, s1 / scan / w, cpu / wall / cores }'
    rm -rf "$data"
done
