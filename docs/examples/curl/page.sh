#!/usr/bin/env bash
# Captures a page, and prints it as Markdown.
#
#   API=http://127.0.0.1:8088 KEY=et_..._... ./page.sh https://example.com/
set -euo pipefail
# shellcheck source=docs/examples/curl/client.sh
. "$(dirname "$0")/client.sh"

# A capture of the last day is as good as a new one.
wanted="$(jq --null-input --arg url "$1" '{url: $url, max_age_s: 86400}')"
page="$(call /v1/url --json "$wanted")"
id="$(jq --raw-output .id <<<"$page")"

# The service answers as soon as the URL is settled, after a minute at the latest.
state=due
while [ "$state" = due ]; do
    page="$(call "/v1/url/$id?wait=60&include=markdown")"
    state="$(jq --raw-output .state <<<"$page")"
done

# The page of a failure has contents, too. And not every capture has Markdown: a redirect or a
# picture has none, and `missing` says why.
if ! jq --exit-status '.state == "captured" and .contents.markdown' <<<"$page" >/dev/null; then
    jq --raw-output '"\(.state): \([.outcome, .reason, .contents.missing] | map(values)
        | join(", "))"' <<<"$page" >&2
    exit 1
fi
jq --raw-output .contents.markdown <<<"$page"
