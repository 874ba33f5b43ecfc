#!/usr/bin/env bash
# Checks which pages a browser shows in a frame of the site's viewer, by their response headers,
# and compares this with the table for the tests of crates/core/webpage. Prints each difference,
# and fails if there is one.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Only https pages can be framed. Any certificate is fine.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=oracle -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
node scripts/oracle/framing.mjs crates/core/webpage/tests/webpage/suites/framing.tsv "$folder"
