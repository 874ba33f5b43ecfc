#!/usr/bin/env bash
# Writes lock files for the packages that scripts/install/ gets from PyPI and npm: every package
# with its version and hashes, for Python 3.11 and later on any platform. Must be run after a
# list has changed.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh
install_uv

lock() {
    local list="$1"
    shift
    "$target/uv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate "$@" --output-file "${list%.txt}.lock" "$list"
}
lock scripts/install/uv.txt
lock scripts/install/python-requirements.txt
lock scripts/judge/requirements.txt
lock packaging/requirements.txt
lock scripts/stress/requirements.txt
lock terraform/offline/requirements.txt
# These are installed into the same directory as the previous ones.
lock ansible/tests/requirements.txt --constraint terraform/offline/requirements.lock
(cd scripts/install/node && npm install --package-lock-only --ignore-scripts --no-audit --no-fund)
