#!/usr/bin/env bash
# Fetches icons for a long time from a small internet that changes, and tests that memory, open
# files and tasks do not grow, in a separate network namespace at full concurrency.
#
#   MINUTES=30 IN_FLIGHT=5000 URLS=40000 HOSTS=16000 scripts/stress/soak-icons.sh
#
# Every CHANGE seconds (45) the servers are replaced by another internet, in which other names fail.
# Fails if a maximum in the last third of the run exceeds that of the second third by more than a
# fifth.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

minutes="${MINUTES:-30}"
in_flight="${IN_FLIGHT:-5000}"
urls="${URLS:-40000}"
hosts="${HOSTS:-16000}"
change="${CHANGE:-45}"

# shellcheck source=scripts/bench/icon-track.sh
. scripts/bench/icon-track.sh

plan=(--hosts "$hosts" --urls "$urls")
"$programs/icon-track" list --scenario mix "${plan[@]}" >"$folder/urls.txt"
internet() {
    while true; do
        for scenario in plain mix tls mix; do
            "$programs/icon-track" serve --scenario "$scenario" "${plan[@]}" >"$folder/track.said" &
            track=$!
            sleep "$change"
            kill -9 "$track"
            wait "$track" 2>/dev/null || true
        done
    done
}
internet &
until grep -qs ready "$folder/track.said"; do sleep 0.1; done
"$programs/examples/fetch_icons" "$folder/urls.txt" in_flight="$in_flight" spool="$folder" \
    minutes="$minutes"
