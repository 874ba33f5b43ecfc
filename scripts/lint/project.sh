#!/usr/bin/env bash
# The project's rules that no linter knows. CONTRIBUTING.md says why each is there.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

failures=0
complain() {
    echo "$1" >&2
    failures=$((failures + 1))
}
tracked() { git ls-files --cached --others --exclude-standard -- "$@"; }

# The core takes bytes and gives values: it cannot wait, because it names nothing that waits.
for manifest in bundler/Cargo.toml crates/commoncrawl/Cargo.toml crates/icon/Cargo.toml \
    crates/webpage/Cargo.toml; do
    for name in tokio sqlx reqwest; do
        if grep -qE "^$name( |\.|=|-)" "$manifest"; then
            complain "$manifest: a core crate names $name"
        fi
    done
done

# No circle of packages, not even through dev-dependencies (which cargo would allow).
edges="$(for manifest in $(tracked '*Cargo.toml'); do
    name="$(sed -nE 's/^name = "(everytab-[a-z-]+)"/\1/p' "$manifest" | head -n 1)"
    [ -n "$name" ] || continue
    echo "$name $name"
    sed -nE "s/^(everytab-[a-z-]+)( |\.).*/$name \1/p" "$manifest"
done)"
if ! circle="$(tsort <<<"$edges" 2>&1 >/dev/null)"; then
    complain "packages depend on each other in a circle: $(tr '\n' ' ' <<<"$circle")"
fi

# One TLS stack.
while IFS= read -r package; do
    complain "the dependency tree holds $package: choose features without it (cargo tree -i)"
done < <(cargo tree --workspace --edges normal,build --prefix none --locked |
    grep -oE '^(ring|native-tls|openssl-sys) v[^ ]+' | sort -u)

# A file is read at one sitting. What is generated is not read.
while IFS= read -r file; do
    [ -f "$file" ] || continue
    lines="$(wc -l <"$file")"
    [ "$lines" -le 500 ] || complain "$file: $lines lines, at most 500"
done < <(tracked '*.rs' '*.sql' '*.js' '*.mjs' '*.css' '*.sh' '*.py' |
    grep -vE '^coordinator-sql/schema\.sql$')

# The first paragraph of a module is its design.
while IFS= read -r file; do
    [ -f "$file" ] || continue
    first="$(head -n 1 "$file")"
    [ "${first#//!}" != "$first" ] || complain "$file: does not begin with //!"
done < <(tracked '*.rs')

# rustfmt leaves long strings and comments alone.
while IFS= read -r place; do
    complain "$place: more than 100 columns"
done < <(tracked '*.rs' '*.js' '*.mjs' '*.sql' | grep -vE '^coordinator-sql/schema\.sql$' |
    LC_ALL=C.UTF-8 xargs -r grep -HnoE '^.{101}' 2>/dev/null | cut -d: -f1,2)

while IFS= read -r file; do
    complain "$file: a drawer called like that collects everything"
done < <(tracked '*.rs' '*.js' | grep -E '(^|/)(utils?|helpers?|types|common)(\.rs|\.js|/)')

[ "$failures" = 0 ] || exit 1
