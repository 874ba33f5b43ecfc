#!/usr/bin/env bash
# Makes git check commit messages in this checkout. Every `make` target calls this, so it is fast,
# and does nothing outside a checkout or if another hook is installed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 0

[ -e .git ] && hooks="$(git rev-parse --git-path hooks 2>/dev/null)" || exit 0
hook="$hooks/commit-msg"
# The hook calls the script in the current checkout. An older checkout has no such script.
text='#!/bin/sh
# Installed by scripts/git/install.sh.
check="$(git rev-parse --show-toplevel)/scripts/git/commit-msg"
[ -x "$check" ] || exit 0
exec "$check" "$@"'
[ "$(cat "$hook" 2>/dev/null)" != "$text" ] || exit 0
[ ! -e "$hook" ] || grep -q 'scripts/git/install.sh' "$hook" || exit 0
{ mkdir -p "$hooks" && echo "$text" >"$hook" && chmod +x "$hook"; } 2>/dev/null || true
