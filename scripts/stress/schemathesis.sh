#!/usr/bin/env bash
# Sends requests to a live service that Schemathesis generates from the service's description, with
# a valid key, a revoked one and one that owns nothing, and prints a summary for each key.
#
#   SECONDS_A_KEY=120 scripts/stress/schemathesis.sh    (make schemathesis)
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh

install_python_programs schemathesis scripts/stress/requirements.txt
export SCHEMATHESIS="$target/schemathesis/bin/schemathesis"
[ -x "$SCHEMATHESIS" ] || die "$SCHEMATHESIS is missing"
say "${SECONDS_A_KEY:-120} s a key: $(circumstances)"
scripts/in-memory.sh "$target/debug/with-postgres" cargo test --quiet --locked --workspace \
    --test scan -- --ignored --nocapture --exact \
    schemathesis::no_key_gets_what_is_not_its_own_and_nothing_fails
