#!/usr/bin/env bash
# Gets the corpus' pages' text from a browser, and compares it with the output of `everytab-worker
# inspect text`. Does not use the network outside this host: every name resolves to loopback.
#
#   scripts/oracle/text.sh [FILTER...]     only pages whose name contains one of the words
#
# Writes target/oracle-text.tsv, one line per page that differs, and fails below 98 % agreement.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

need_corpus
cargo build --quiet --locked --package everytab-worker --bin everytab-worker

node scripts/oracle/text.mjs "$target/debug/everytab-worker" "$corpus" \
    "$target/oracle-text.tsv" "$@"
