#!/bin/sh
# Asked by Postgres through PAM whether a password (on stdin) is a good token, as RDS would: signed
# for this place and user, and not older than its time. The signature itself is not checked.
token="$(tr -d '\000')"
case "$token" in
    db.everytab.zz:5432/\?*Action=connect*DBUser="$PAM_USER"*) ;;
    *) exit 1 ;;
esac
signed='.*X-Amz-Date=([0-9]{8})T([0-9]{2})([0-9]{2})([0-9]{2})Z.*'
made="$(printf '%s' "$token" | sed -nE "s/$signed/\1 \2:\3:\4/p")"
[ -n "$made" ] || exit 1
age=$(($(date +%s) - $(date -ud "$made" +%s)))
limit="$(cat "$(dirname "$0")/token-seconds")"
[ "$age" -le "$limit" ]
