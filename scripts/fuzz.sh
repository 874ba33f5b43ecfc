#!/usr/bin/env bash
# Runs each fuzz target (or those named) for FUZZ_SECONDS, 60 by default. Needs a nightly compiler
# and cargo-fuzz: cargo install --locked cargo-fuzz.
#
#   FUZZ_SECONDS=600 scripts/fuzz.sh [icon|index|page|robots|warc...]
#
# Recorded files in ../shared/corpus are the seeds where they are there; else libFuzzer begins
# with nothing. What it learns stays in fuzz/corpus, what breaks in fuzz/artifacts (both ignored).
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "fuzz: rustup toolchain install nightly; cargo install --locked cargo-fuzz" >&2
    exit 1
fi

recorded="${EVERYTAB_CORPUS:-../shared/corpus}"
seed_of() {
    case "$1" in
        icon) find "$recorded/icons" -type f -size -64k ;;
        index) find "$recorded/index" -name '*.parquet' -size -256k ;;
        page) find "$recorded/html" -name '*.html' -size -64k ;;
        robots) find "$recorded" -name '*robots*.txt' -size -64k ;;
        warc) find "$recorded/warc" -type f -size -256k ;;
    esac 2>/dev/null | head -n 500
}

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list)

for target in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$target"
    seeds="$(mktemp -d)"
    while IFS= read -r file; do
        cp "$file" "$seeds/$(sha256sum <"$file" | cut -c1-16)"
    done < <(seed_of "$target")
    echo "fuzz: $target, ${FUZZ_SECONDS:-60} s, $(find "$seeds" -type f | wc -l) seeds" >&2
    # One input may take 10 s at most: a slow one is a finding, a page or icon has a time limit.
    # No sanitizer: our core has no unsafe code, and panics, hangs and floods show without, faster.
    cargo +nightly fuzz run --sanitizer none "$target" "fuzz/corpus/$target" "$seeds" -- \
        -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=4096 -max_len=262144 \
        -print_final_stats=1
    rm -r "$seeds"
done
