#!/usr/bin/env bash
# Verifies a webhook that a receiver has kept, and prints its event as a line of JSON.
#
#   SECRET=whsec_... ./webhook.sh ID TIMESTAMP SIGNATURES <BODY
#
# The arguments are the headers webhook-id, webhook-timestamp and webhook-signature; the body is
# given byte by byte as it came. Other users of the machine can see openssl's arguments, and so the
# secret: a receiver that others share a machine with is better written in another language.
set -euo pipefail
id="$1" sent_at="$2" signatures="$3"
# Older requests may be copies of one that was overheard.
tolerance_s=300

refuse() {
    echo "not genuine: $1" >&2
    exit 1
}

# hmac KEY: the HMAC-SHA256 of stdin in base64, with a key in hexadecimal digits.
hmac() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary | base64; }

[[ "$sent_at" =~ ^[1-9][0-9]{0,11}$ ]] || refuse "no timestamp"
age=$(($(date +%s) - sent_at))
((age <= tolerance_s && age >= -tolerance_s)) || refuse "sent $age seconds ago"

body="$(mktemp)"
trap 'rm "$body"' EXIT
cat >"$body"
key="$(base64 -d <<<"${SECRET#whsec_}" | od -An -v -tx1 | tr -d ' \n')"
right="v1,$({ printf '%s.%s.' "$id" "$sent_at"; cat "$body"; } | hmac "$key")"

# Signatures are compared by what a random key makes of them, so that the time of the comparison
# says nothing about them.
blind="$(openssl rand -hex 32)"
# There are two while a secret is changed.
read -ra given <<<"$signatures"
for one in ${given[@]+"${given[@]}"}; do
    if [ "$(printf %s "$one" | hmac "$blind")" = "$(printf %s "$right" | hmac "$blind")" ]; then
        jq --compact-output --arg id "$id" '{id: $id} + .' "$body"
        exit 0
    fi
done
refuse "no signature by this secret"
