#!/usr/bin/env bash
# Runs a command with its temporary files in memory, if there is enough of it. Hundreds of tests
# have their own database with 345 files, and a disk's file system takes six times as long to
# create them.
#
#   scripts/in-memory.sh cargo nextest run --workspace
#
# Each checkout and program has its own directory. It is removed when the last process that the
# command started has ended. TMPDIR and NEXTEST_TEST_THREADS are kept if they are set.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# Free KiB that are required: a full run writes about 8 GB of files, and its processes need as
# much memory.
room=10000000
memory=16000000

folders="/dev/shm/everytab-tests-$(id -u)"
folder="$folders-$(echo "$PWD $(basename "${1:-}")" | cksum | cut -d ' ' -f 1)"

# Removes the directories of runs whose processes were all killed.
sweep() {
    local lock
    for lock in "$folders"-*.lock; do
        [ ! -f "$lock" ] || { flock -n 8 && rm -rf "${lock%.lock}"; } 8>"$lock" || true
    done
}

# Creates the directory, and locks it through descriptor 9, which every process that the command
# starts inherits.
make_folder() {
    [ -z "${TMPDIR:-}" ] || return 1
    [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt "$memory" ] || return 1
    sweep
    [ "$(df -k --output=avail /dev/shm | tail -n 1)" -gt "$room" ] || return 1
    exec 9>"$folder.lock"
    # Another process may be removing an earlier run's directory.
    flock -w 10 9 && rm -rf "$folder" && mkdir "$folder" || return 1
    # Postgres does not run as root and writes files here as another user.
    chmod 1777 "$folder"
}

cores="$(nproc)"
if make_folder 2>/dev/null; then
    say "temporary files are in $folder"
    export TMPDIR="$folder"
    # Remove the directory when no process holds the lock any longer.
    (flock 8 && rm -rf "$folder") 8>"$folder.lock" 9>&- </dev/null >/dev/null 2>&1 &
    disown
    threads="$((4 * cores))"
else
    exec 9>&-
    say "temporary files are in ${TMPDIR:-/tmp}: TMPDIR is set, memory is short, or in use"
    threads="$((2 * cores))"
fi
# Each test may use a dozen of the server's connections, so at most 16 run at a time.
export NEXTEST_TEST_THREADS="${NEXTEST_TEST_THREADS:-$((threads < 16 ? threads : 16))}"
exec "$@"
