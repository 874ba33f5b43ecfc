#!/usr/bin/env bash
# Writes terraform/offline/schema.json.gz again. This is needed for each new resource type in
# terraform/.
#
# The bindings are the last ones that were published for the provider (6.25.0). npm checks them
# against the digest below.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

PACKAGE=@cdktf/provider-aws@21.22.1
DIGEST=sha512-BuSHeaQFUL9l33pBzIMRT7cTQ69AM2mLtijjteCPhVQRmvuhuj9Lvfymf7knAMhYqAT6+Lrls9jiGVW/Us3zrQ==
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

(cd "$work" && npm pack --silent "$PACKAGE" >/dev/null && mv ./*.tgz package.tgz)
found="sha512-$(openssl dgst -sha512 -binary "$work/package.tgz" | base64 --wrap=0)"
[ "$found" = "$DIGEST" ] ||
    die "$PACKAGE has another digest: $found"
tar -C "$work" -xzf "$work/package.tgz"
"$target/infra/bin/python" terraform/offline/schema.py "$work/package" terraform \
    terraform/offline/schema.json.gz
