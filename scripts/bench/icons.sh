#!/usr/bin/env bash
# Fetches the same list of icon URLs with our fetcher and with a plain Go program, alternately, from
# servers on loopback in a separate network namespace, and prints the cost of each.
#
#   SCENARIO=plain|tls|mix|slow URLS=200000 HOSTS=80000 IN_FLIGHT=1000 REPEATS=3 SIGNED=
#
# plain: all URLs are answered immediately over HTTP. tls: over HTTPS, without resuming sessions.
# mix: 70 % succeed after 0.4 s, 10 % fail quickly, 12 % do not connect, 5 % never finish, 3 % do
# not support TLS. slow: half a megabyte in eight seconds, only with our fetcher, to measure memory.
# LATER_PASS=false disables the retries at the end of each shard, which the other program does not
# have. With SIGNED=yes our fetcher also runs once more with signed requests.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

scenario="${SCENARIO:-plain}"
urls="${URLS:-200000}"
hosts="${HOSTS:-80000}"
in_flight="${IN_FLIGHT:-1000}"
repeats="${REPEATS:-3}"
# shellcheck source=scripts/bench/peers.sh
. scripts/bench/peers.sh
# shellcheck source=scripts/bench/icon-track.sh
. scripts/bench/icon-track.sh
go_peer

plan=(--scenario "$scenario" --hosts "$hosts" --urls "$urls")
"$programs/icon-track" list "${plan[@]}" >"$folder/urls.txt"
"$programs/icon-track" serve "${plan[@]}" >"$folder/track.said" &
track=$!
trap 'kill "$track" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    ! grep -q ready "$folder/track.said" || break
    sleep 0.1
done

rm -f "$folder"/ours.* "$folder"/signed.* "$folder"/go.*
TIMEFORMAT='%R %U %S'
for _ in $(seq "$repeats"); do
    { time "$programs/examples/fetch_icons" "$folder/urls.txt" in_flight="$in_flight" \
        spool="$folder" later_pass="${LATER_PASS:-true}" >>"$folder/ours.said"; } \
        2>>"$folder/ours.times"
    if [ -n "${SIGNED:-}" ]; then
        { time "$programs/examples/fetch_icons" "$folder/urls.txt" in_flight="$in_flight" \
            spool="$folder" later_pass="${LATER_PASS:-true}" signed=true \
            >>"$folder/signed.said"; } 2>>"$folder/signed.times"
    fi
    if [ -n "$go" ] && [ "$scenario" != slow ]; then
        { time "$go" icons -workers "$in_flight" -insecure -quiet \
            "$folder/urls.txt" >/dev/null 2>>"$folder/go.said"; } 2>>"$folder/go.times"
    fi
done
if [ "$scenario" = plain ] && command -v wrk >/dev/null; then
    wrk -t 1 -c 256 -d 5 -H 'Host: h0.icons.test' http://127.1.0.1/favicon.ico |
        grep 'Requests/sec' | sed 's/^/wrk, one file on open connections: /'
fi
kill "$track"
wait "$track" || true

echo "$me: $scenario, $urls URLs, $hosts hosts, $in_flight in flight, medians of" \
    "$repeats, $(circumstances)"
expected="$("$programs/icon-track" expect "${plan[@]}")"
echo "$expected"
case "$scenario" in plain | tls)
    for name in ours signed; do
        ! grep -v "\"ok\":$urls[,}]" "$folder/$name.said" 2>/dev/null ||
            die "$name: not $urls icons"
    done
    ;;
esac
printf '%-6s %10s %16s %14s %22s\n' program 'URLs/s' 'CPU s/1000 URLs' 'URLs/CPU s' \
    'all runs, s CPU'
for name in ours signed go; do
    [ -s "$folder/$name.times" ] || continue
    wall="$(awk '{ print $1 }' "$folder/$name.times" | median)"
    cpu="$(awk '{ print $2 + $3 }' "$folder/$name.times" | median)"
    all="$(awk '{ printf "%s%.1f", sep, $2 + $3; sep = " " }' "$folder/$name.times")"
    awk -v name="$name" -v urls="$urls" -v wall="$wall" -v cpu="$cpu" -v all="$all" 'BEGIN {
        printf "%-6s %10.0f %16.3f %14.0f %22s\n", name, urls / wall, cpu / urls * 1000, \
            urls / cpu, all }'
done
# The maximum rate follows from the minimum time for which each URL occupies one of the slots.
field() { grep -o "\"$1\":[0-9.]*" <<<"$2" | cut -d : -f 2; }
if [ "$scenario" = mix ]; then
    awk -v urls="$urls" -v slots="$in_flight" -v latency="$(field latency_seconds "$expected")" \
        -v least="$(field least_slot_seconds "$expected")" \
        -v forgetful="$(field forgetful_slot_seconds "$expected")" \
        -v ours="$(field timed_out_ms "$(cat "$folder/ours.said")" | median)" 'BEGIN {
            printf "bound  %10.0f URLs/s with what one dead address or origin tells of others,", \
                urls * slots / least
            printf " %.0f without\n", urls * slots / forgetful
            printf "slot time of time-outs: %.0f s at least, ours %.0f s, ", \
                least - latency, ours / 1000
            printf "each URL alone %.0f s\n", forgetful - latency }'
fi
for name in ours signed go; do
    [ ! -s "$folder/$name.said" ] || sed "s/^/$name: /" "$folder/$name.said"
done
echo "track: $(tail -n 1 "$folder/track.said")"
