#!/usr/bin/env bash
# Prints which tests `make test` skipped, and why.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# nextest's report is always in the repository's target.
found="$({
    cat "$target/skipped" 2>/dev/null
    grep -ohE 'skipped: [^<&]+' target/nextest/default/junit.xml 2>/dev/null
    sed -nE 's/^ *ok [0-9]+ - (.*) # SKIP ?(.*)$/skipped: \1: \2/p' \
        "$target/site-tests.tap" 2>/dev/null
} | sort | uniq -c | sed -E 's/^ *1 //; s/^ *([0-9]+) (.*)$/\2 (\1 times)/' || true)"
if [ -n "$found" ]; then
    echo "$found"
else
    echo "skipped: nothing"
fi
