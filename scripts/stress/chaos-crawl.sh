#!/usr/bin/env bash
# Chaos tests of live crawls: a large crawl with faults of every kind, and two crawls on the same
# sites whose workers are killed every five seconds.
#
#   FAULTS=200 HOSTS=2000 PAGES=200000 CHAOS_SEED=1 POLITE_SECONDS=180 scripts/stress/chaos-crawl.sh
#
# Optimised, for a large crawl takes long otherwise. Each test ends by itself, after an hour at the
# latest.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

export FAULTS="${FAULTS:-200}" HOSTS="${HOSTS:-2000}" PAGES="${PAGES:-200000}"
export CHAOS_SEED="${CHAOS_SEED:-$((RANDOM * 32768 + RANDOM))}"
for name in \
    two_crawls_whose_workers_are_killed_every_five_seconds_ask_no_host_early \
    a_large_crawl_with_faults_records_what_its_graph_holds; do
    say "$name, CHAOS_SEED=$CHAOS_SEED: $(circumstances)"
    cargo test --release --quiet --locked --package everytab-worker --test scan -- \
        --include-ignored --nocapture --exact "chaos::crawls::$name"
done
