#!/usr/bin/env bash
# Has a site crawled each night, and says when each schedule of the key is due.
#
#   API=http://127.0.0.1:8088 KEY=et_..._... ./schedule.sh NAME https://example.com/
set -euo pipefail
# shellcheck source=docs/examples/curl/client.sh
. "$(dirname "$0")/client.sh"

# A request that is repeated adds no second schedule (client.sh: Idempotency-Key).
wanted="$(jq --null-input --arg name "$1" --arg url "$2" '{name: $name, urls: [$url], at: "03:00",
    settings: {scope: "host", depth: 3, limit: 1000}}')"
if ! message="$(call /v1/url/schedule --json "$wanted" 2>&1 >/dev/null)"; then
    # Names are unique: this one was added on another day.
    [[ "$message" == *name_taken:* ]] || { echo "$message" >&2; exit 1; }
fi

# A list comes in pages; `next` is absent in the last one.
after=
while :; do
    list="$(call /v1/url/schedule --get ${after:+--data "after=$after"})"
    jq --raw-output '.schedules[] | "\(.name): due at \(.next_at), \(.fired) crawls so far"' \
        <<<"$list"
    after="$(jq --raw-output '.next // empty' <<<"$list")"
    [ -n "$after" ] || break
done
