#!/usr/bin/env bash
# Finds out in a browser which titles the corpus' pages have and which icons they declare, and
# compares this with the output of `everytab-worker inspect`. Does not use the network outside this
# host: every name resolves to loopback.
#
#   scripts/oracle/pages.sh [FILTER...]       only documents whose name contains one of the words
#   SOUP=1000 SEED=1 scripts/oracle/pages.sh  generated pages instead
#
# Writes target/oracle.tsv, one line per difference, and fails below 99.5 % agreement.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

need_corpus
cargo build --quiet --locked --package everytab-worker --bin everytab-worker

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Pages keep their URLs, so that their links resolve as on the web. For https this needs a
# certificate. Any certificate is fine.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=oracle -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
node scripts/oracle/pages.mjs "$target/debug/everytab-worker" "$corpus" "$folder" \
    "$target/oracle.tsv" "$@"
