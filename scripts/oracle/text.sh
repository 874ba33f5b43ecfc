#!/usr/bin/env bash
# Asks a browser for the text of the corpus' pages, and compares it with what
# `everytab-worker inspect text` says. Nothing leaves the machine: every host is loopback.
#
#   scripts/oracle/text.sh [FILTER...]     only pages whose name contains one of the words
#
# Writes target/oracle-text.tsv, one line a page that differs, and fails below 98 % agreement.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

need_corpus
cargo build --quiet --locked --package everytab-worker --bin everytab-worker

node scripts/oracle/text.mjs "$target/debug/everytab-worker" "$corpus" \
    "$target/oracle-text.tsv" "$@"
