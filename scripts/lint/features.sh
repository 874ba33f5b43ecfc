#!/usr/bin/env bash
# Checks that everytab-worker compiles with each set of features that is built anywhere, because
# tests compile only the default.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# The fleet's program. With --workspace and a test, cargo reuses the dependencies of the tests'
# build. If a dependency's feature is enabled only by tests, only scripts/dist/dist.sh finds
# this.
cargo build --quiet --locked --workspace --lib --test conformance --no-default-features \
    --features "everytab-storage/default,everytab-worker/${fleet_features//,/,everytab-worker/}" ||
    die "--features $fleet_features does not compile"
# The demo's program. Its dependencies have other features, so no build result can be reused.
cargo check --quiet --locked --package everytab-worker --bin everytab-worker \
    --no-default-features --features "$demo_features" ||
    die "--features $demo_features does not compile"
# Each product alone, with as many of the demo's features as possible, so that shared
# dependencies are compiled once.
for product in scan crawl; do
    cargo check --quiet --locked --package everytab-worker --bin everytab-worker \
        --no-default-features --features "https,$product" ||
        die "--features $product does not compile"
done
