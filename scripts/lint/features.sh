#!/usr/bin/env bash
# Checks that everytab-worker compiles with each set of features that is built anywhere: tests
# compile the default alone.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# Of a machine of the fleet: the tests' build knows all but everytab-worker itself. --workspace
# gives the dependencies the features that they have there, and --test their features for tests.
cargo build --quiet --locked --workspace --lib --test conformance --no-default-features \
    --features "everytab-storage/default,everytab-worker/${fleet_features//,/,everytab-worker/}" ||
    die "--features $fleet_features does not compile"
# Of the demo: with other features of the dependencies too.
cargo check --quiet --locked --package everytab-worker --bin everytab-worker \
    --no-default-features --features "$demo_features" ||
    die "--features $demo_features does not compile"
