#!/usr/bin/env bash
# Writes the lock files of what scripts/install/ brings from PyPI and npm: every package with its
# version and hashes, for Python 3.11 and later on any machine. Run it after a change of a list.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh
install_uv

# lock LIST [ARGUMENTS]: the lock file of LIST.txt.
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
# These come into the same folder as the ones before.
lock ansible/tests/requirements.txt --constraint terraform/offline/requirements.lock
(cd scripts/install/node && npm install --package-lock-only --ignore-scripts --no-audit --no-fund)
