#!/usr/bin/env bash
# Runs the smallest form of every benchmark with the programs that were built for the tests.
# Prints how long each benchmark took, and at the end which ones failed, because a benchmark
# fails if its results are wrong. Their output is in target/bench-smoke.
#
#   [LANE=scans|crawls] scripts/bench/smoke.sh [NAME...]
#
# Both lanes may run at the same time. Other projects' programs are not run. The measured values
# mean nothing, because the programs are not optimised.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

export BUILT="$target/debug" PEERS=none PEER=0
logs="$target/bench-smoke"
mkdir -p "$logs"
wanted=("$@")
failed=()

# bench NAME [VARIABLE=VALUE...] SCRIPT [ARGUMENT...]
bench() {
    local name="$1" begun=$SECONDS ended=0
    shift
    [ "${LANE:-$lane}" = "$lane" ] || return 0
    [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $name "* ]] || return 0
    # None of these benchmarks takes a tenth of this time.
    timeout 600 env "$@" >"$logs/$name.log" 2>&1 || ended=$?
    if [ "$ended" = 0 ]; then
        say "$name: $((SECONDS - begun)) s$(grep -m 1 -o 'skipped: .*' "$logs/$name.log" |
            sed 's/^/, /')"
    else
        failed+=("$name")
        say "$name: failed ($ended) after $((SECONDS - begun)) s, $logs/$name.log ends:"
        tail -n 15 "$logs/$name.log" >&2
    fi
}

say "$(circumstances)"
lane=scans
bench scan HOSTS=200 scripts/bench/scan.sh
bench scaling HOSTS=200 WORKERS="1 2" LATENCY=50ms scripts/bench/scaling.sh
bench transactions HOSTS=200 scripts/bench/transactions.sh
bench queue-drain JOBS=2000 SINGLE_JOBS=500 ALONE_JOBS=200 ROUNDS=1 scripts/bench/queue.sh drain
bench queue-rows ROW_JOBS=16 scripts/bench/queue.sh rows
bench fleet FLEET_SECONDS=10 FLEET_WORKERS=5 scripts/bench/queue.sh fleet
bench whole-scan SHARDS=1000 scripts/bench/queue.sh whole-scan
bench locks SHARDS=100 WORKERS=2 READER_S=1 BLOCKED=2000 scripts/bench/queue.sh locks
bench frontier URLS=100000 FETCHES=3000 scripts/bench/queue.sh frontier
bench crawl-fleet FLEET_SECONDS=10 FLEET_WORKERS=4 PAGES_PER_S=15 CHECKPOINT_SECONDS=2 HOSTS=3000 \
    scripts/bench/queue.sh crawl-fleet
bench pages RUNS=1 REPEAT=1 scripts/bench/pages.sh
bench icons URLS=2000 HOSTS=800 IN_FLIGHT=100 REPEATS=1 scripts/bench/icons.sh
bench bundle RUNS=1 REPEAT=1 scripts/bench/bundle.sh
bench index ROWS=200000 RUNS=1 scripts/bench/index.sh
bench warc RUNS=1 REPEAT=1 scripts/bench/warc.sh
bench search NAMES=100000 PREFIXES=200 scripts/bench/search.sh
bench map ICONS=20000 scripts/bench/map.sh
bench site ROUNDS=1 scripts/bench/site.sh
bench soak-icons MINUTES=1 CHANGE=10 URLS=2000 HOSTS=800 IN_FLIGHT=200 scripts/stress/soak-icons.sh
bench costly-svgs FUZZ_SECONDS=5 scripts/stress/costly-svgs.sh

lane=crawls
bench crawl-throughput HOSTS=20 PAGES=800 REPEATS=1 scripts/bench/crawl.sh throughput
bench crawl-polite HOSTS=60 PAGES=6000 WORKERS=1 WARM_SECONDS=5 WINDOW_SECONDS=10 \
    scripts/bench/crawl.sh polite
bench crawl-fleet-oracle HOSTS=60 PAGES=1500 WORKERS="1 2" scripts/bench/crawl.sh fleet
bench crawl-urgent HOSTS=100 PAGES=20000 WARM_SECONDS=5 SINGLES=3 scripts/bench/crawl.sh urgent
bench outages BENCH_PROGRAMS="$BUILT" LENGTHS=8 DELAYS=250 KINDS="refused 502 cut-length" \
    CLIENTS=everytab scripts/bench/outages.sh
bench origins BENCH_PROGRAMS="$BUILT" HOSTS=10 PAGES=10 SINGLES=10 TARGETS=0 \
    scripts/bench/origins.sh
bench worst-page BENCH_PROGRAMS="$BUILT" HOSTS=1 SINGLES=4 SINGLE_HOSTS=2 TARGETS=0 \
    scripts/bench/origins.sh worst_page
bench api-submit RATES=100 SECONDS_A_RATE=5 scripts/bench/api.sh submit
bench api-waiters WAITERS=70 KEYS=2 scripts/bench/api.sh waiters
bench api-flood SECONDS_A_FLOOD=3 CONNECTIONS=16 scripts/bench/api.sh flood
bench api-urgent HOSTS=100 PAGES=20000 WARM_SECONDS=5 SINGLES=3 scripts/bench/api.sh urgent
bench api-fair HOSTS=100 PAGES=20000 URLS=40000 WARM_SECONDS=5 WINDOW_SECONDS=5 \
    scripts/bench/api.sh fair
bench api-load SECONDS_A_LOAD=3 KEYS=2 scripts/bench/api.sh load
bench soak-crawl MINUTES=1 LOOK_SECONDS=10 CHANGE=15 DOWN=3 HOSTS=60 PAGES=600 \
    scripts/bench/crawl.sh soak

[ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}"
say "all benches${LANE:+ of $LANE} ran, in $SECONDS s"
