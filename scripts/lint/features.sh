#!/usr/bin/env bash
# Checks that everytab-worker compiles with each set of features that is built anywhere: tests
# compile the default alone.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

for features in "$fleet_features" "$demo_features"; do
    cargo check --quiet --locked --package everytab-worker --bin everytab-worker \
        --no-default-features --features "$features" || die "--features $features does not compile"
done
