#!/usr/bin/env bash
# Runs chaos tests of live crawls: two crawls on the same sites whose workers are killed every five
# seconds, a feed that is read while workers and service are killed, and a large crawl with faults
# of every kind.
#
#   FAULTS=200 HOSTS=2000 PAGES=200000 CHAOS_SEED=1 POLITE_SECONDS=180 FEED_ROUNDS=60 \
#       scripts/stress/chaos-crawl.sh
#
# The tests are built in release mode, because a large crawl takes long otherwise. If BUILT is set,
# the programs from `make test` run instead.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

export FAULTS="${FAULTS:-200}" HOSTS="${HOSTS:-2000}" PAGES="${PAGES:-200000}"
export CHAOS_SEED="${CHAOS_SEED:-$((RANDOM * 32768 + RANDOM))}"
tests=(--release --package everytab-worker)
[ -z "${BUILT:-}" ] || tests=(--workspace)
for name in \
    chaos::crawls::two_crawls_whose_workers_are_killed_every_five_seconds_ask_no_host_early \
    crawl_feeds::a_long_feed_read_through_kills_and_late_commits_has_every_fetch_once_and_in_order \
    chaos::crawls::a_large_crawl_with_faults_records_what_its_graph_holds; do
    say "$name, CHAOS_SEED=$CHAOS_SEED: $(circumstances)"
    cargo test "${tests[@]}" --quiet --locked --test scan -- \
        --include-ignored --nocapture --exact "$name"
done
