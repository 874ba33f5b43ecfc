#!/usr/bin/env bash
# Runs a command whose temporary files are kept in memory, where there is plenty. Hundreds of tests
# have a database of their own, of 345 files: a disk's file system takes six times as long to make
# them. nextest runs more tests at a time then.
#
#   scripts/in-memory.sh cargo nextest run --workspace
#
# The folder is this checkout's and this program's. It is removed when the last process that the
# command left has ended, however it ended. A TMPDIR or a NEXTEST_TEST_THREADS that is set stays.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# KiB that must be free: a whole run takes some 8 GB of files, and as much for its processes.
room=10000000
memory=16000000

folders="/dev/shm/everytab-tests-$(id -u)"
folder="$folders-$(echo "$PWD $(basename "${1:-}")" | cksum | cut -d ' ' -f 1)"

# Removes what runs left that were killed with all their processes.
sweep() {
    local lock
    for lock in "$folders"-*.lock; do
        [ ! -f "$lock" ] || { flock -n 8 && rm -rf "${lock%.lock}"; } 8>"$lock" || true
    done
}

# Makes the folder, which descriptor 9 holds: every process that the command starts inherits it.
make_folder() {
    [ -z "${TMPDIR:-}" ] || return 1
    [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt "$memory" ] || return 1
    sweep
    [ "$(df -k --output=avail /dev/shm | tail -n 1)" -gt "$room" ] || return 1
    exec 9>"$folder.lock"
    # Another run's folder may be being removed.
    flock -w 10 9 && rm -rf "$folder" && mkdir "$folder" || return 1
    # Postgres, which does not run as root, makes files here as another user.
    chmod 1777 "$folder"
}

cores="$(nproc)"
if make_folder 2>/dev/null; then
    say "temporary files are in $folder"
    export TMPDIR="$folder"
    # Waits until no process holds the folder.
    (flock 8 && rm -rf "$folder") 8>"$folder.lock" 9>&- </dev/null >/dev/null 2>&1 &
    disown
    threads="$((4 * cores))"
else
    exec 9>&-
    say "temporary files are in ${TMPDIR:-/tmp}: a TMPDIR is set, or memory is short, or in use"
    threads="$((2 * cores))"
fi
# Each test may hold a dozen of the server's connections.
export NEXTEST_TEST_THREADS="${NEXTEST_TEST_THREADS:-$((threads < 16 ? threads : 16))}"
exec "$@"
