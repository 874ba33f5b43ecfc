#!/usr/bin/env bash
# Runs each fuzz target, or the named ones, for FUZZ_SECONDS (60). Needs a nightly compiler and
# cargo-fuzz: cargo install --locked cargo-fuzz.
#
#   FUZZ_SECONDS=600 scripts/stress/fuzz.sh [TARGET...]
#
# If recorded files exist in ../shared/corpus, they are the seeds. libFuzzer's corpus is stored in
# fuzz/corpus, and failing inputs in fuzz/artifacts.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    die "rustup toolchain install nightly; cargo install --locked cargo-fuzz"
fi

# Recorded pages are gzip files without headers, so each gets a line that replaces the headers.
pages() {
    local file
    while IFS= read -r file; do
        { printf '%b' "$2"; gzip -dc "$file"; } >"$1/$(basename "$file" .gz)"
    done < <(find "$corpus/html" -name '*.html.gz' -size -32k 2>/dev/null)
    find "$1" -size +256k -delete
}

copies() {
    local folder="$1" file
    shift
    while IFS= read -r file; do
        cp "$file" "$folder/$(sha256sum <"$file" | cut -c1-16)"
    done < <(find "$@" -type f 2>/dev/null | head -n 500)
}

# Each file of the public robots.txt suite follows a line that replaces the path.
robots() {
    command -v node >/dev/null || return 0
    node -e '
        const { readFileSync, writeFileSync } = require("node:fs");
        const suite = "crates/core/webpage/tests/webpage/suites/robots.json";
        const cases = JSON.parse(readFileSync(suite));
        cases.forEach(({ robots }, i) =>
            writeFileSync(`${process.argv[1]}/${i}`, `fish/page.html\n${robots}`));
    ' "$1"
}

sitemaps() {
    local url='https://a.example/1'
    printf '<urlset><url><loc>%s</loc><x:link rel="alternate" href="%s"/></url></urlset>' \
        "$url" "$url" >"$1/urlset"
    printf '<sitemapindex><sitemap><loc>%s</loc></sitemap></sitemapindex>' "$url" >"$1/index"
    printf '%s\n%s\n' "$url" "$url" >"$1/text"
    printf '<rss><channel><item><link>%s</link></item></channel></rss>' "$url" >"$1/rss"
    printf '<feed><entry><link href="%s"/></entry></feed>' "$url" >"$1/atom"
    gzip -c "$1/urlset" >"$1/gzip"
}

urls() {
    find "$corpus/html" -name '*.html.gz' -print0 2>/dev/null | head -z -n 300 |
        xargs -0 -r gzip -dc | grep --text --only-matching "[\"']$2[^\"' ]\{0,4000\}[\"']" |
        sort -u | head -n 500 | tr -d "\"'" | split --lines 1 --suffix-length 4 - "$1/" || true
}

seed() {
    case "$1" in
        charset) pages "$2" 'text/html; charset=x\n' ;;
        data_url) urls "$2" 'data:' ;;
        frontier_url | surt) urls "$2" 'https\?://' ;;
        http) pages "$2" 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nA:\r\n b\r\n\r\n' ;;
        icon) copies "$2" "$corpus/icons" -size -64k ;;
        icon_avif) copies "$2" crates/core/icon/vectors -name '*.avif' ;;
        icon_cost) copies "$2" "$corpus/icons/broken" crates/core/icon/vectors -size -32k ;;
        icon_*) copies "$2" "$corpus/icons/${1#icon_}" "$corpus/icons/broken" -size -32k ;;
        index) copies "$2" "$corpus/index" -name '*.parquet' -size -256k ;;
        markdown | markup) pages "$2" '' ;;
        page) pages "$2" "text/html;frame-ancestors 'self' *.a.example, DENY\n" ;;
        robots) robots "$2" ;;
        text) pages "$2" '\0377' ;;
        sitemap) sitemaps "$2" ;;
        sniff) copies "$2" "$corpus/icons" -size -16k ;;
        url) urls "$2" 'https\?://' ;;
        warc) copies "$2" "$corpus/warc" -size -256k ;;
    esac
}

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list)

for one in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$one"
    seeds="$(mktemp -d)"
    seed "$one" "$seeds"
    say "$one, ${FUZZ_SECONDS:-60} s, $(find "$seeds" -type f | wc -l) seeds"
    # The AV1 decoder leaks memory, which fragments glibc's heap (docs/decisions/0137).
    case "$one" in
        icon | icon_avif | icon_cost) heap=(env MALLOC_MMAP_THRESHOLD_=16384) ;;
        *) heap=() ;;
    esac
    # An input may take at most 10 s, because pages and icons have time limits and a slow input
    # is a bug. --release: fuzz/Cargo.toml specifies for each crate which assertions are
    # enabled. Our core has no unsafe code, and panics, hangs and excessive memory are found
    # faster without a sanitizer.
    ${heap[@]+"${heap[@]}"} cargo +nightly fuzz run --release --sanitizer none \
        "$one" "fuzz/corpus/$one" "$seeds" -- \
        -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=4096 -max_len=262144 \
        -print_final_stats=1
    rm -r "$seeds"
done
