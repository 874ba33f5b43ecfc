#!/usr/bin/env bash
# One whole scan on this machine, from parquet index to a page of tabs in the browser.
#
#   DEMO=live|recorded|generated scripts/demo/demo.sh [worker's options]
#
# live: the newest crawl, 400 hosts of it, over the real internet. recorded: the recorded sample
# in ../shared/corpus. generated: a small internet made from one number. Without DEMO the first
# of these that this machine can do. Run again, a scan goes on where it stopped.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

BUCKET_HOST=data.commoncrawl.org
# Crawls are never taken down, so an old one tells as well as the newest whether the way is open.
PROBE="https://$BUCKET_HOST/crawl-data/CC-MAIN-2024-10/cc-index-table.paths.gz"
SAMPLE="${EVERYTAB_CORPUS:-../shared/corpus}"

bucket_answers() {
    if command -v curl >/dev/null; then
        curl --silent --fail --head --output /dev/null --max-time 5 "$PROBE"
    else
        timeout 5 bash -c ": </dev/tcp/$BUCKET_HOST/443" 2>/dev/null
    fi
}

choice="${DEMO:-}"
if [ -n "$choice" ]; then
    why="DEMO=$choice says so"
elif bucket_answers; then
    choice=live
    why="$BUCKET_HOST answers"
elif [ -d "$SAMPLE/index" ]; then
    choice=recorded
    why="$BUCKET_HOST does not answer, and there is a recorded sample in $SAMPLE"
else
    choice=generated
    why="$BUCKET_HOST does not answer, and there is no recorded sample in $SAMPLE"
fi

case "$choice" in
    live) source=(--crawl latest --limit 400) ;;
    recorded) source=(--sample "$SAMPLE") ;;
    generated) source=(--sample) ;;
    *) echo "demo: DEMO=$choice is none of live, recorded, generated" >&2; exit 2 ;;
esac
echo "demo: $choice ($why); DEMO=live|recorded|generated chooses another" >&2

exec cargo run --quiet --locked --package everytab-worker --bin everytab-worker -- \
    local "${source[@]}" --dir "everytab-data/demo-$choice" \
    --serve "${SERVE:-127.0.0.1:8080}" "$@"
