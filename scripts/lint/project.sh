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

# forbid WHAT NAMES OPTION...: reports each package in a dependency tree whose name matches the
# pattern NAMES.
forbid() {
    local what="$1" names="$2" tree package
    shift 2
    if ! tree="$(cargo tree --locked --edges normal,build --prefix none "$@")"; then
        complain "cargo tree $* fails"
        return
    fi
    while IFS= read -r package; do
        complain "the dependency tree of $what holds $package (cargo tree -i says by what)"
    done < <(grep -oE "^($names) v[^ ]+" <<<"$tree" | sort -u)
}

# The core converts bytes to values. It cannot wait, because none of its dependencies can.
cores=(everytab-commoncrawl everytab-webpage everytab-markdown everytab-frontier everytab-filters
    everytab-icon everytab-crawl-settings everytab-bundler)
for core in "${cores[@]}"; do
    forbid "$core, a core crate," 'tokio|sqlx|tokio-postgres|reqwest|hyper' --package "$core"
done
# The fleet's program must not contain a test internet or a way to start Postgres.
worker=(--package everytab-worker --no-default-features --features)
forbid "the fleet's program" 'everytab-(testbed|postgres|local)|image|rcgen|arrow-[a-z]+' \
    "${worker[@]}" "$fleet_features"
# The demo's program must not contain slow-to-compile dependencies that a scan on one host does
# not need.
forbid "the demo's program" 'aws-(sdk-[a-z0-9]+|config)|arrow-[a-z]+|opentelemetry-otlp' \
    "${worker[@]}" "$demo_features"
# There must be only one TLS stack.
forbid 'the workspace' 'ring|native-tls|openssl-sys' --workspace

# Packages must not depend on each other in a circle, not even through dev-dependencies, which
# cargo would allow.
edges="$(for manifest in $(tracked '*Cargo.toml'); do
    name="$(sed -nE 's/^name = "(everytab-[a-z-]+)"/\1/p' "$manifest" | head -n 1)"
    [ -n "$name" ] || continue
    echo "$name $name"
    sed -nE "s/^(everytab-[a-z-]+)( |\.).*/$name \1/p" "$manifest"
done)"
if ! circle="$(tsort <<<"$edges" 2>&1 >/dev/null)"; then
    complain "packages depend on each other in a circle: $(tr '\n' ' ' <<<"$circle")"
fi

# A person should be able to read a file at one sitting. This excludes generated files, and the
# baseline, which is one list of tables that later migrations extend.
while IFS= read -r file; do
    [ -f "$file" ] || continue
    lines="$(wc -l <"$file")"
    [ "$lines" -le 500 ] || complain "$file: $lines lines, at most 500"
done < <(tracked '*.rs' '*.sql' '*.js' '*.mjs' '*.css' '*.sh' '*.py' |
    grep -vE '^coordinator-sql/(schema|migrations/0001_baseline)\.sql$')

# runs_an_example PACKAGE: returns true if `make test` runs one of its examples: a Rust block in
# a comment, a Rust block in a README that is part of the documentation, or a program with a
# test.
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

# Each package needs a README and an example that `make test` runs, so that people can use the
# package without reading its code.
while IFS= read -r manifest; do
    package="$(dirname "$manifest")"
    [[ "$package" != @(.|fuzz|worker) ]] || continue
    [ -f "$package/README.md" ] || complain "$package: has no README.md"
    runs_an_example "$package" || complain "$package: has no example that is run"
done < <(tracked '*Cargo.toml')

# A module's first paragraph must describe its design.
while IFS= read -r file; do
    [ -f "$file" ] || continue
    first="$(head -n 1 "$file")"
    [ "${first#//!}" != "$first" ] || complain "$file: does not begin with //!"
done < <(tracked '*.rs')

# rustfmt does not wrap long strings and comments. The two excluded scripts contain tables and a
# digest, and the lock files contain hashes.
while IFS= read -r place; do
    complain "$place: more than 100 columns"
done < <(tracked '*.rs' '*.js' '*.mjs' '*.sql' 'scripts/*' |
    grep -vE '^coordinator-sql/schema\.sql$' |
    grep -vE '^scripts/infra/(mutants|schema)\.sh$|\.lock$|/package-lock\.json$' |
    LC_ALL=C.UTF-8 xargs -r grep -HnoE '^.{101}' 2>/dev/null | cut -d: -f1,2)

# If the tests for `x.rs` have their own file, this is `x/tests.rs`.
while IFS= read -r file; do
    complain "$file: is ${file%_tests.rs}/tests.rs in the project's way"
done < <(tracked '*_tests.rs')

while IFS= read -r file; do
    complain "$file: a drawer called like that collects everything"
done < <(tracked '*.rs' '*.js' | grep -E '(^|/)(utils?|helpers?|types|common)(\.rs|\.js|/)')

[ "$failures" = 0 ] || exit 1
