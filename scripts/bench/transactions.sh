#!/usr/bin/env bash
# Prints the longest transactions in a whole scan of a generated internet, from Postgres' log of all
# statements. A transaction lasts from its first statement's start to its last statement's end. Does
# not use the network outside this host.
#
#   HOSTS=20000 WORKERS=2 MIX=issue scripts/bench/transactions.sh [worker's options]
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# shellcheck source=scripts/bench/folder.sh
. scripts/bench/folder.sh
mkdir -p "$folder/data"
# %v is the virtual transaction id. These settings are stored in the cluster's own file.
"$built/with-postgres" --dir "$folder/data/postgres" -- bash -c '
    for setting in "log_min_duration_statement = 0" "log_parameter_max_length = 0" \
        "log_line_prefix = '"'%n %v '"'"; do
        psql -X -q -d "$EVERYTAB_TEST_DATABASE_URL" -c "alter system set $setting"
    done'
"$built/everytab-worker" local --sample --sample-hosts "${HOSTS:-20000}" \
    --sample-mix "${MIX:-issue}" --workers "${WORKERS:-2}" --dir "$folder/data" \
    --exit-when-done "$@" >"$folder/out" 2>"$folder/err" || {
    tail -n 5 "$folder/err" >&2
    exit 1
}

expect_tabs "$folder/data" "${HOSTS:-20000}"
# For statements outside transactions, %v is empty or 0.
awk '$3 == "LOG:" && $4 == "duration:" {
    if ($2 !~ /^[0-9]+\/[0-9]+$/ || $2 ~ /\/0$/) next
    end = $1; begin = end - $5 / 1000
    statement = $0; sub(/^.*(statement|execute [^:]*|parse [^:]*|bind [^:]*): /, "", statement)
    if (!($2 in first) || begin < first[$2]) first[$2] = begin
    if (!($2 in last) || end > last[$2]) last[$2] = end
    if (!($2 in most) || $5 > most[$2]) { most[$2] = $5; what[$2] = substr(statement, 1, 100) }
    seen++
}
END {
    for (id in first) printf "%.1f\t%s\n", (last[id] - first[id]) * 1000, what[id]
    printf "-1\t%d statements\n", seen
}' "$folder/data/postgres/server.log" | sort -rn >"$folder/transactions"
total=$(grep -vc '^-1' "$folder/transactions")
[ "$total" -gt 0 ] || die "no transaction in $folder/data/postgres/server.log"
echo "$me: $total transactions; the longest, in milliseconds, with the slowest" \
    "statement of each:"
head -n "${SHOW:-15}" "$folder/transactions"
