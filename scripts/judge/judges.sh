#!/usr/bin/env bash
# Crawls the hosts of a small internet, makes the page of their tabs, and has other projects'
# programs judge the crawl's files: warcio, cdxj-indexer, DuckDB, pywb and Chromium. The same
# programs judge a crawl of a graph of sites, its repetition on the next day, and a crawl of pages
# whose bodies end early or have another coding than their heads declare.
#
#   HOSTS=250 GRAPH_HOSTS=24 GRAPH_PAGES=600 REPLAYED=200 scripts/judge/judges.sh    (make judges)
#
# The last two parts need root, for a network namespace in which Postgres' user can run.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh

install_python_programs judges scripts/judge/requirements.txt
python="$target/judges/bin/python"
"$python" -c 'import pywb, duckdb, cdxj_indexer' || die "no programs in $target/judges"
work="$(mktemp -d)"
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
program="$target/debug/everytab-worker"
say "crawling ${HOSTS:-250} hosts of the small internet, and making the page of their tabs"
"$program" local --sample \
    --sample-hosts "${HOSTS:-250}" --sample-mix none --sites --dir "$work/data" --exit-when-done
export PYTHONDONTWRITEBYTECODE=1
crawl="$(ls "$work/data/crawls/crawl-data")"
"$python" scripts/judge/judges.py "$work/data/crawls" "$crawl" "${REPLAYED:-200}"
"$program" serve "$work/data/site" --addr 127.0.0.1:0 >"$work/address" &
server=$!
trap 'kill "$server"; rm -rf "$work"' EXIT
until address="$(grep -o 'http://[^ /]*/' "$work/address")"; do sleep 0.1; done
node scripts/judge/page.mjs "$address" "$target/judges/tabs.png"

say "crawling a graph of sites on two days"
[ "$(id -u)" = 0 ] || die "needs root for this part"
export BENCH_PROGRAMS="$target/debug" PYTHON="$python"
(export BENCH_FOLDER="$work/days" && in_namespace scripts/judge/graph.sh two_days.py)

say "crawling pages with broken bodies"
(export BENCH_FOLDER="$work/bodies" && in_namespace scripts/judge/graph.sh bodies.py)
