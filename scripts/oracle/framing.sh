#!/usr/bin/env bash
# Asks a browser which pages it shows in a frame of the site's viewer, by their response headers,
# and compares with the table that the tests of crates/core/webpage use. Nothing leaves the machine.
#
# Prints each difference, and fails if there is one.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Only https pages can be framed; for that it takes a certificate, any certificate.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=oracle -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
node scripts/oracle/framing.mjs crates/core/webpage/tests/webpage/suites/framing.tsv "$folder"
