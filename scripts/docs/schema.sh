#!/usr/bin/env bash
# Writes coordinator-sql/schema.sql, the schema without its functions in one file, for people:
# migrates an empty database and dumps it. The test that checks the file also writes it.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

UPDATE_SCHEMA=1 cargo test --quiet --locked --package everytab-coordinator \
    the_schema_file_is_what_migrating_gives
