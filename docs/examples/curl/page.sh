#!/usr/bin/env bash
# Captures a page, and prints it as Markdown.
#
#   API=http://127.0.0.1:8088 KEY=et_..._... ./page.sh https://example.com/
set -euo pipefail
# shellcheck source=docs/examples/curl/client.sh
. "$(dirname "$0")/client.sh"

# Accept a capture from the last day.
wanted="$(jq --null-input --arg url "$1" '{url: $url, max_age_s: 86400}')"
page="$(call /v1/url --json "$wanted")"
id="$(jq --raw-output .id <<<"$page")"

# The service responds when the URL is settled, after at most a minute.
state=due
while [ "$state" = due ]; do
    page="$(call "/v1/url/$id?wait=60&include=markdown")"
    state="$(jq --raw-output .state <<<"$page")"
done

# A failed URL may have contents, too, and some captures have no Markdown, such as redirects and
# images: `missing` says why.
if ! jq --exit-status '.state == "captured" and .contents.markdown' <<<"$page" >/dev/null; then
    jq --raw-output '"\(.state): \([.outcome, .reason, .contents.missing] | map(values)
        | join(", "))"' <<<"$page" >&2
    exit 1
fi
jq --raw-output .contents.markdown <<<"$page"
