#!/usr/bin/env bash
# Verifies a webhook that a receiver has stored, and prints its event as a line of JSON.
#
#   SECRET=whsec_... ./webhook.sh ID TIMESTAMP SIGNATURES <BODY
#
# The arguments are the headers webhook-id, webhook-timestamp and webhook-signature. The body must
# have exactly the bytes that were received. Other users of the host can see openssl's arguments,
# including the secret, so write a receiver on a shared host in another language.
set -euo pipefail
id="$1" sent_at="$2" signatures="$3"
# An older request may be a copy that an attacker recorded.
tolerance_s=300

refuse() {
    echo "not genuine: $1" >&2
    exit 1
}

# hmac KEY: prints the HMAC-SHA256 of stdin in base64. The key is in hexadecimal digits.
hmac() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary | base64; }

[[ "$sent_at" =~ ^[1-9][0-9]{0,11}$ ]] || refuse "no timestamp"
age=$(($(date +%s) - sent_at))
((age <= tolerance_s && age >= -tolerance_s)) || refuse "sent $age seconds ago"

body="$(mktemp)"
trap 'rm "$body"' EXIT
cat >"$body"
key="$(base64 -d <<<"${SECRET#whsec_}" | od -An -v -tx1 | tr -d ' \n')"
right="v1,$({ printf '%s.%s.' "$id" "$sent_at"; cat "$body"; } | hmac "$key")"

# Compare HMACs of the signatures under a random key, so that the comparison's duration does not
# reveal them.
blind="$(openssl rand -hex 32)"
# There are two signatures while the secret is being rotated.
read -ra given <<<"$signatures"
for one in ${given[@]+"${given[@]}"}; do
    if [ "$(printf %s "$one" | hmac "$blind")" = "$(printf %s "$right" | hmac "$blind")" ]; then
        jq --compact-output --arg id "$id" '{id: $id} + .' "$body"
        exit 0
    fi
done
refuse "no signature by this secret"
