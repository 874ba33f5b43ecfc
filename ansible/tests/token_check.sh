#!/bin/sh
# Postgres calls this through PAM. Checks that the password on stdin is a token that RDS would
# accept: made for this host and user, not expired, and by a key whose role may sign in as this
# user (according to `principals` in this directory). Does not check the signature itself.
# Writes to `sign-ins` who signed in.
here="$(dirname "$0")"
token="$(tr -d '\000')"
case "$token" in
    db.everytab.zz:5432/\?*Action=connect*DBUser="$PAM_USER"*) ;;
    *) exit 1 ;;
esac
key="$(printf '%s' "$token" | sed -nE 's/.*X-Amz-Credential=([A-Za-z0-9]+)%2F.*/\1/p')"
who="$(grep -m 1 "^$key $PAM_USER " "$here/principals")" || exit 1
signed='.*X-Amz-Date=([0-9]{8})T([0-9]{2})([0-9]{2})([0-9]{2})Z.*'
made="$(printf '%s' "$token" | sed -nE "s/$signed/\1 \2:\3:\4/p")"
[ -n "$made" ] || exit 1
age=$(($(date +%s) - $(date -ud "$made" +%s)))
limit="$(cat "$here/token-seconds")"
[ "$age" -le "$limit" ] || exit 1
printf '%s\n' "$who" >>"$here/sign-ins"
