#!/usr/bin/env bash
# Checks that everytab-worker compiles with each set of features that is built anywhere: tests
# compile the default alone.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# The fleet's program. With --workspace and a test, cargo gives all dependencies the features that
# they have in the tests' build, so it compiles only the library of everytab-worker. A feature of a
# dependency that only tests turn on is therefore found by scripts/dist/dist.sh, not here.
cargo build --quiet --locked --workspace --lib --test conformance --no-default-features \
    --features "everytab-storage/default,everytab-worker/${fleet_features//,/,everytab-worker/}" ||
    die "--features $fleet_features does not compile"
# The demo's program. Its dependencies have other features, so nothing can be reused.
cargo check --quiet --locked --package everytab-worker --bin everytab-worker \
    --no-default-features --features "$demo_features" ||
    die "--features $demo_features does not compile"
# Each product alone, with as many of the demo's other features as it can have, so that what both
# depend on is compiled once.
for product in scan crawl; do
    cargo check --quiet --locked --package everytab-worker --bin everytab-worker \
        --no-default-features --features "https,$product" ||
        die "--features $product does not compile"
done
