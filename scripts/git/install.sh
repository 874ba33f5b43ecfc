#!/usr/bin/env bash
# Has git check the messages of commits in this checkout. `make` calls it whatever it is asked for,
# so it is quick, and does nothing where there is no checkout or where another hook is installed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 0

[ -e .git ] && hooks="$(git rev-parse --git-path hooks 2>/dev/null)" || exit 0
hook="$hooks/commit-msg"
# The hook follows the script of what is checked out; an older checkout has none.
text='#!/bin/sh
# Installed by scripts/git/install.sh.
check="$(git rev-parse --show-toplevel)/scripts/git/commit-msg"
[ -x "$check" ] || exit 0
exec "$check" "$@"'
[ "$(cat "$hook" 2>/dev/null)" != "$text" ] || exit 0
[ ! -e "$hook" ] || grep -q 'scripts/git/install.sh' "$hook" || exit 0
{ mkdir -p "$hooks" && echo "$text" >"$hook" && chmod +x "$hook"; } 2>/dev/null || true
