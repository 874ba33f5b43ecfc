#!/usr/bin/env bash
# Prose drifts from code: every path of this repository that our documents name must exist.
#
# Looked at: `code spans` that begin with one of the top folders or are a top-level file's name,
# and the targets of relative Markdown links. Spans with spaces, <placeholders> or {lists} are
# prose; * is matched as the shell does.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folders='bundler|coordinator-sql|crates|worker|site|docs|scripts|fuzz|packer|terraform|ansible|telemetry|\.ci|\.config'
files='[A-Z]+\.md|LICENSE-[A-Z]+|Makefile|Cargo\.(toml|lock)|(clippy|deny|rustfmt)\.toml'
failures=0

exists() {
    # A trailing :12 is a line number.
    compgen -G "$(sed -E 's/:[0-9]+$//' <<<"$1")" >/dev/null
}

complain() {
    echo "$1: names $2, which does not exist" >&2
    failures=$((failures + 1))
}

while IFS= read -r document; do
    while IFS= read -r path; do
        exists "$path" || complain "$document" "$path"
    done < <(grep -oE '`[^` <>{}]+`' "$document" | tr -d '`' |
        grep -E "^(($folders)/.*|$files)\$" | sort -u || true)

    while IFS= read -r link; do
        exists "$(dirname "$document")/$link" || complain "$document" "$link"
    done < <(grep -oE '\]\([^)# ]+' "$document" | cut -c3- |
        grep -vE '^([a-z]+:|/)' | sort -u || true)
done < <(git ls-files --cached --others --exclude-standard '*.md')

[ "$failures" = 0 ] || exit 1
