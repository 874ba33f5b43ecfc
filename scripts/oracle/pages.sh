#!/usr/bin/env bash
# Asks a browser what the corpus' pages are called and which icons they declare, and compares with
# what `everytab-worker inspect` says. Nothing leaves the machine: every host is loopback.
#
#   scripts/oracle/pages.sh [FILTER...]       only documents whose name contains one of the words
#   SOUP=1000 SEED=1 scripts/oracle/pages.sh  pages of generated soup instead
#
# Writes target/oracle.tsv, one line a difference, and fails below 99.5 % agreement.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

need_corpus
cargo build --quiet --locked --package everytab-worker --bin everytab-worker

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Pages keep their addresses, so that what they say resolves as on the web; for https that takes a
# certificate, any certificate.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=oracle -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
node scripts/oracle/pages.mjs "$target/debug/everytab-worker" "$corpus" "$folder" \
    "$target/oracle.tsv" "$@"
