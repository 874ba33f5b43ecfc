#!/usr/bin/env bash
# Runs a whole scan on this host, from the parquet index to a page of tabs in the browser.
#
#   DEMO=live|recorded|generated|sites|api scripts/demo/demo.sh [worker's options]  (make demo)
#
#   live       scans 400 hosts of the newest crawl over the real internet, on your behalf. Needs
#              SITE_URL (its bot.html describes your robot) and CONTACT (a mail address or an https
#              address).
#   recorded   scans the recorded sample in EVERYTAB_CORPUS.
#   generated  scans a small internet that is generated from a seed.
#   sites      crawls the hosts of the generated internet, and makes a page of the captures.
#              SITES=FILE crawls the real sites in a list instead, on your behalf.
#   api        starts the crawl service for the generated internet, without a scan. Prints two
#              commands that submit a page and read it.
#
# Without DEMO, the first of live, recorded and generated that is possible here is used. If it is
# run again, a scan or the service continues where it stopped. --exit-when-done exits after the
# scan. `everytab-worker local --help` describes all options.
#
# On a terminal, cargo and the scan show their own progress. Otherwise each step is a line with the
# time since the start.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

case " $* " in *" --help "* | *" -h "*)
    sed -n '2,/^# shellcheck/{/^# shellcheck/!s/^# \{0,1\}//p}' "$self"
    exit ;;
esac

BUCKET_HOST=data.commoncrawl.org
# Crawls are never deleted, so a file of an old crawl shows whether the bucket is reachable.
PROBE="https://$BUCKET_HOST/crawl-data/CC-MAIN-2024-10/cc-index-table.paths.gz"
# Approximate CPU seconds for a build from scratch.
BUILD_CPU_SECONDS=300
# Interval in seconds between two lines about the build if there is no terminal.
BUILD_LINE_SECONDS=15
# Build without S3, CloudFront and OTLP, because their crates take long to compile.
PROGRAM=(--package everytab-worker --no-default-features --features "$demo_features")
BUILD=(--locked --profile demo --bin everytab-worker)

bucket_answers() {
    if have curl; then
        curl --silent --fail --head --output /dev/null --max-time 5 "$PROBE"
    else
        timeout 5 bash -c ": </dev/tcp/$BUCKET_HOST/443" 2>/dev/null
    fi
}

# Check this before the build, which takes minutes.
is_taken() { (exec 3<>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }
step() { say "[$(clock "$SECONDS")] $*"; }

# Reads cargo's messages (JSON, one per line).
tell_progress() {
    local all="$1" line package next=$((SECONDS + BUILD_LINE_SECONDS))
    declare -A built=()
    while IFS= read -r line; do
        [[ "$line" == *'"reason":"compiler-artifact"'* ]] || continue
        package="${line#*\"package_id\":\"}"
        built["${package%%\"*}"]=1
        if [ "$SECONDS" -ge "$next" ]; then
            step "built ${#built[@]} of about $all packages"
            next=$((SECONDS + BUILD_LINE_SECONDS))
        fi
    done
}

build_time() {
    local minutes=$(((BUILD_CPU_SECONDS / $(nproc) + 59) / 60))
    [ "$minutes" -gt 1 ] && echo "about $minutes minutes" || echo "about a minute"
}

build() {
    if [ -t 2 ]; then
        cargo build "${PROGRAM[@]}" "${BUILD[@]}"
        return
    fi
    local all
    all="$(cargo tree --locked "${PROGRAM[@]}" --edges normal,build --prefix none 2>/dev/null |
        sed 's/ (\*)$//' | sort -u | wc -l)"
    cargo build --quiet --message-format json-render-diagnostics "${PROGRAM[@]}" "${BUILD[@]}" |
        tell_progress "$all"
}

site_url="${SITE_URL:-${EVERYTAB_SITE_URL:-}}"
contact="${CONTACT:-${EVERYTAB_CONTACT:-}}"
choice="${DEMO:-}"
if [ -z "$site_url" ] || [ -z "$contact" ]; then
    not_live="requests to the internet need SITE_URL and CONTACT, which identify you"
elif ! bucket_answers; then
    not_live="$BUCKET_HOST does not respond"
else
    not_live=
fi
if [ -n "$choice" ] && ! { [ "$choice" = live ] && [ -n "$not_live" ]; }; then
    why="set by DEMO"
elif [ -z "$not_live" ]; then
    choice=live
    why="$BUCKET_HOST responds, and SITE_URL and CONTACT are set"
elif [ -d "$corpus/index" ]; then
    choice=recorded
    why="$not_live, and there is a recorded sample in $corpus"
else
    choice=generated
    why="$not_live, and there is no recorded sample in $corpus"
fi

case "$choice" in
    live)
        source=(--crawl latest --limit 400 --site-url "$site_url" --contact "$contact")
        takes="about 2 minutes"
        ;;
    recorded) source=(--sample "$corpus") takes="about a minute" ;;
    generated) source=(--sample) takes="about a minute" ;;
    sites)
        source=(--sample --sites)
        if [ -n "${SITES:-}" ]; then
            source=(--sites "$SITES" --site-url "$site_url" --contact "$contact")
        fi
        takes="about a minute"
        ;;
    api) source=(--sample --sample-mix none) ;;
    *) say "invalid DEMO=$choice: expected live, recorded, generated, sites or api"; exit 2 ;;
esac
[ "$choice" = api ] && port=8088 || port=8080
address="${SERVE:-127.0.0.1:$port}"
! is_taken "$address" || die "$address is in use; set another one, such as SERVE=127.0.0.1:8081"
step "1 of 4: the source is $choice ($why); DEMO=live|recorded|generated|sites|api chooses another"

step "2 of 4: installing missing programs, if any"
scripts/install/demo.sh

step "3 of 4: building ($(build_time) on this host the first time, seconds later on)"
build

serve=(--serve "$address")
if [ "$choice" = api ]; then
    step "4 of 4: the service on http://$address/ until Ctrl-C"
    serve=(--api "$address")
else
    step "4 of 4: scanning ($takes), then the page on http://$address/ until Ctrl-C"
fi
dir="everytab-data/demo-$choice"
# On some kernels only root may filter the packets of the generated internet on loopback.
as=()
[ "$choice" != live ] && [ -z "${SITES:-}" ] || as=(scripts/demo/unprivileged.sh "$dir")
exec "${as[@]}" "$target/demo/everytab-worker" local "${source[@]}" --dir "$dir" \
    "${serve[@]}" "$@"
