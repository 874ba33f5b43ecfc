#!/usr/bin/env bash
# Checks the project's rules that no linter supports. CONTRIBUTING.md gives the reason for each.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

failures=0
complain() {
    echo "$1" >&2
    failures=$((failures + 1))
}
tracked() { git ls-files --cached --others --exclude-standard -- "$@"; }

# forbid WHAT NAMES OPTION...: reports each package in a dependency tree whose name matches
# NAMES.
forbid() {
    local what="$1" names="$2" tree package
    shift 2
    if ! tree="$(cargo tree --locked --edges normal,build --prefix none "$@")"; then
        complain "cargo tree $* fails"
        return
    fi
    while IFS= read -r package; do
        complain "the dependency tree of $what contains $package (cargo tree -i shows why)"
    done < <(grep -oE "^($names) v[^ ]+" <<<"$tree" | sort -u)
}

# The core converts bytes to values. It cannot wait, because none of its dependencies can.
cores=(everytab-commoncrawl everytab-webpage everytab-markdown everytab-frontier everytab-filters
    everytab-icon everytab-crawl-settings everytab-bundler)
for core in "${cores[@]}"; do
    forbid "$core, a core crate," 'tokio|sqlx|tokio-postgres|reqwest|hyper' --package "$core"
done
worker=(--package everytab-worker --no-default-features --features)
forbid "the fleet's program" 'everytab-(testbed|postgres|local)|image|rcgen|arrow-[a-z]+' \
    "${worker[@]}" "$fleet_features"
# These dependencies are slow to compile, and a scan on one host does not need them.
forbid "the demo's program" 'aws-(sdk-[a-z0-9]+|config)|arrow-[a-z]+|opentelemetry-otlp' \
    "${worker[@]}" "$demo_features"
forbid 'the workspace' 'ring|native-tls|openssl-sys' --workspace

# cargo would allow a circle through dev-dependencies.
edges="$(for manifest in $(tracked '*Cargo.toml'); do
    name="$(sed -nE 's/^name = "(everytab-[a-z-]+)"/\1/p' "$manifest" | head -n 1)"
    [ -n "$name" ] || continue
    echo "$name $name"
    sed -nE "s/^(everytab-[a-z-]+)( |\.).*/$name \1/p" "$manifest"
done)"
if ! circle="$(tsort <<<"$edges" 2>&1 >/dev/null)"; then
    complain "packages depend on each other in a circle: $(tr '\n' ' ' <<<"$circle")"
fi

# A person should be able to read a file at one sitting. The baseline is one list of tables that
# later migrations extend.
while IFS= read -r file; do
    [ -f "$file" ] || continue
    lines="$(wc -l <"$file")"
    [ "$lines" -le 500 ] || complain "$file: has $lines lines; the maximum is 500"
done < <(tracked '*.rs' '*.sql' '*.js' '*.mjs' '*.css' '*.sh' '*.py' |
    grep -vE '^coordinator-sql/(schema|migrations/0001_baseline)\.sql$')

# `make test` runs these examples: a Rust block in a comment, a Rust block in a README that is
# part of the documentation, or a program with a test.
runs_an_example() {
    local package="$1" texts
    grep -qE '^test = true' "$package/Cargo.toml" && [ -d "$package/examples" ] && return
    mapfile -t texts < <(find "$package/src" -name '*.rs')
    if grep -qE 'include_str!\("\.\./README\.md"\)' "${texts[@]}"; then
        texts+=("$package/README.md")
    fi
    # Every second fence ends a block. The info string after the first fence determines whether
    # the block is run.
    awk 'FNR == 1 { is_open = 0 }
         match($0, /^ *(\/\/[\/!] )?```/) {
             said = substr($0, RSTART + RLENGTH)
             if (!is_open && said ~ /^(rust|should_panic|standalone_crate)?$/) found = 1
             is_open = !is_open
         }
         END { exit !found }' "${texts[@]}"
}

# People should be able to use a package without reading its code.
while IFS= read -r manifest; do
    package="$(dirname "$manifest")"
    [[ "$package" != @(.|fuzz|worker) ]] || continue
    [ -f "$package/README.md" ] || complain "$package: has no README.md"
    runs_an_example "$package" || complain "$package: has no example that is run"
done < <(tracked '*Cargo.toml')

while IFS= read -r file; do
    [ -f "$file" ] || continue
    first="$(head -n 1 "$file")"
    [ "${first#//!}" != "$first" ] || complain "$file: does not start with //!"
done < <(tracked '*.rs')

# rustfmt does not wrap long strings and comments. The two excluded scripts contain tables and a
# digest, and the lock files contain hashes.
while IFS= read -r place; do
    complain "$place: more than 100 columns"
done < <(tracked '*.rs' '*.js' '*.mjs' '*.sql' 'scripts/*' |
    grep -vE '^coordinator-sql/schema\.sql$' |
    grep -vE '^scripts/infra/(mutants|schema)\.sh$|\.lock$|/package-lock\.json$' |
    LC_ALL=C.UTF-8 xargs -r grep -HnoE '^.{101}' 2>/dev/null | cut -d: -f1,2)

while IFS= read -r file; do
    complain "$file: must be named ${file%_tests.rs}/tests.rs"
done < <(tracked '*_tests.rs')

while IFS= read -r file; do
    complain "$file: needs a more specific name, because such a file collects everything"
done < <(tracked '*.rs' '*.js' | grep -E '(^|/)(utils?|helpers?|types|common)(\.rs|\.js|/)')

[ "$failures" = 0 ] || exit 1
