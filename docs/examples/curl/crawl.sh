#!/usr/bin/env bash
# Crawls a site, and prints a line for each URL as soon as it is fetched.
#
#   API=http://127.0.0.1:8088 KEY=et_..._... ./crawl.sh https://example.com/ STATE
#
# The file STATE stores the crawl and its cursor, so that the same command continues there after an
# interruption. At the end the file is removed.
set -euo pipefail
# shellcheck source=docs/examples/curl/client.sh
. "$(dirname "$0")/client.sh"
site="$1" state="$2"

# save CRAWL AFTER: replaces the whole file, so that an interruption leaves the old one.
save() {
    jq --null-input --arg crawl "$1" --arg after "$2" '{$crawl, $after}' >"$state.new"
    mv "$state.new" "$state"
}

if [ ! -e "$state" ]; then
    wanted="$(jq --null-input --arg url "$site" \
        '{urls: [$url], settings: {scope: "host", depth: 3, limit: 40, delay_ms: 250}}')"
    started="$(call /v1/crawls --json "$wanted")"
    save "$(jq --raw-output .id <<<"$started")" ""
fi
crawl="$(jq --raw-output .crawl "$state")"
after="$(jq --raw-output .after "$state")"

is_over=false
until "$is_over"; do
    # Wait up to half a minute for the next URLs.
    page="$(call "/v1/crawls/$crawl/feed" --get --data wait=30 ${after:+--data "after=$after"})"
    jq --raw-output '.fetches[] | "\(.state) \(.outcome // .reason) \(.url)"' <<<"$page"
    # Store the cursor after the work that it confirms: an interruption in between repeats a page of
    # the feed, and loses none. A database can store both in one transaction.
    after="$(jq --raw-output .next <<<"$page")"
    save "$crawl" "$after"
    is_over="$(jq '.crawl_state == "ended" and (.has_more | not)' <<<"$page")"
done

ended="$(call "/v1/crawls/$crawl")"
jq --raw-output '"\(.state) (\(.ended_by)): " +
    "\(.captured) captured, \(.failed) failed, \(.known) known"' <<<"$ended" >&2
rm "$state"
