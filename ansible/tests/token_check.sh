#!/bin/sh
# Called by Postgres through PAM: checks that the password on stdin is a token as RDS accepts it, made
# for this host and user and not expired. The signature itself is not checked.
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
