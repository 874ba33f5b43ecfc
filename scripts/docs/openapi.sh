#!/usr/bin/env bash
# Checks docs/openapi.json with Redocly, Spectral and openapi-generator, and compiles the output of
# openapi-typescript. A linter's warning and a missing program are failures. Exceptions, with their
# reasons, are in scripts/docs/openapi/.
#
#   scripts/docs/openapi.sh               prints each program's output
#   scripts/docs/openapi.sh --self-test   tests that each finds an id that two operations have
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

node="${EVERYTAB_NODE:-$target/node}/node_modules"
generator="$target/python/bin/openapi-generator-cli"
rules=scripts/docs/openapi
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true NO_COLOR=1
for program in "$node"/.bin/{redocly,spectral,openapi-typescript,tsc} "$generator"; do
    [ -x "$program" ] || die "$program is missing; scripts/install/test.sh installs it"
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

redocly() {
    "$node/.bin/redocly" lint --config "$rules/redocly.yaml" --format stylish "$1"
}
spectral() {
    "$node/.bin/spectral" lint --ruleset "$rules/spectral.yaml" --fail-severity hint "$1"
}
openapi_generator() {
    "$generator" validate --input-spec "$1"
}
openapi_typescript() {
    "$node/.bin/openapi-typescript" "$1" --output "$work/everytab.ts" &&
        "$node/.bin/tsc" --strict --noEmit "$work/everytab.ts" &&
        echo "tsc --strict: no errors"
}
programs=(redocly spectral openapi_generator openapi_typescript)

# read_by_all FILE: runs all programs on this file at the same time. A program's output goes to
# a file with its name. If the program finds a fault, NAME.failed exists.
read_by_all() {
    local program
    for program in "${programs[@]}"; do
        { "$program" "$1" >"$work/$program" 2>&1 || touch "$work/$program.failed"; } &
    done
    wait
}

case "${1:-}" in
    '') ;;
    --self-test)
        jq '.paths["/v1/settings"].get.operationId = "overview_get"' docs/openapi.json \
            >"$work/openapi.json"
        read_by_all "$work/openapi.json"
        for program in "${programs[@]}"; do
            [ -e "$work/$program.failed" ] || die "$program does not find a duplicate id"
        done
        exit 0
        ;;
    *) echo "usage: scripts/docs/openapi.sh [--self-test]" >&2; exit 2 ;;
esac

read_by_all docs/openapi.json
failed=()
for program in "${programs[@]}"; do
    sed "s/^/$program: /" "$work/$program"
    [ ! -e "$work/$program.failed" ] || failed+=("$program")
done
[ ${#failed[@]} = 0 ] || die "docs/openapi.json is rejected by ${failed[*]}"
