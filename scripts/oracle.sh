#!/usr/bin/env bash
# Asks a browser what the corpus' pages are called and which icons they declare, and compares with
# what `everytab-worker inspect` says. Nothing leaves the machine: every host is loopback.
#
#   scripts/oracle.sh [FILTER...]       only documents whose name contains one of the words
#   SOUP=1000 SEED=1 scripts/oracle.sh  pages of generated soup instead
#
# Writes target/oracle.tsv, one line a difference, and fails below 99.5 % agreement.
set -euo pipefail
cd "$(dirname "$0")/.."

corpus="${EVERYTAB_CORPUS:-../shared/corpus}"
if [ ! -d "$corpus" ]; then
    echo "oracle: skipped: no corpus at $corpus" >&2
    exit 0
fi
target="${CARGO_TARGET_DIR:-target}"
cargo build --quiet --locked --package everytab-worker --bin everytab-worker

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Pages keep their addresses, so that what they say resolves as on the web; for https that takes a
# certificate, any certificate.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=oracle -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
node scripts/oracle.mjs "$target/debug/everytab-worker" "$corpus" "$folder" "$target/oracle.tsv" "$@"
