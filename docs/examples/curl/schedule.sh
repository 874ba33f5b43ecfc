#!/usr/bin/env bash
# Schedules a nightly crawl of a site, and prints when each of the key's schedules is due.
#
#   API=http://127.0.0.1:8088 KEY=et_..._... ./schedule.sh NAME https://example.com/
set -euo pipefail
# shellcheck source=docs/examples/curl/client.sh
. "$(dirname "$0")/client.sh"

# Repeating the request does not add a second schedule (client.sh: Idempotency-Key).
wanted="$(jq --null-input --arg name "$1" --arg url "$2" '{name: $name, urls: [$url], at: "03:00",
    settings: {scope: "host", depth: 3, limit: 1000}}')"
if ! message="$(call /v1/url/schedule --json "$wanted" 2>&1 >/dev/null)"; then
    # Names are unique, so this schedule was added on another day.
    [[ "$message" == *name_taken:* ]] || { echo "$message" >&2; exit 1; }
fi

# Lists are paged. The last page has no `next`.
after=
while :; do
    list="$(call /v1/url/schedule --get ${after:+--data "after=$after"})"
    jq --raw-output '.schedules[] | "\(.name): due at \(.next_at), \(.fired) crawls so far"' \
        <<<"$list"
    after="$(jq --raw-output '.next // empty' <<<"$list")"
    [ -n "$after" ] || break
done
