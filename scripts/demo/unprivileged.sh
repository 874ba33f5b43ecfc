#!/usr/bin/env bash
# Runs a program that uses a directory, without root's rights, because fetching and decoding
# untrusted bytes does not need them.
#
#   scripts/demo/unprivileged.sh DIR PROGRAM [ARGUMENTS]
#
# As root, the program runs as the user who called sudo, otherwise as `nobody`, and DIR is given to
# that user. For other callers the program runs unchanged. If that user cannot reach the program or
# DIR, this prints a message and runs the program as root.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

dir="$1"
shift
[ "$(id -u)" = 0 ] || exec "$@"

user="${SUDO_UID:-0}"
group="${SUDO_GID:-0}"
if [ "$user" = 0 ] || [ "$group" = 0 ]; then
    user="$(id -u nobody 2>/dev/null || echo 0)"
    group="$(id -g nobody 2>/dev/null || echo 0)"
fi

can_drop() {
    [ "$user" != 0 ] && have setpriv || return 1
    mkdir -p "$dir" && dir="$(realpath "$dir")" || return 1
    "${as_user[@]}" test -x "$1" && "${as_user[@]}" test -x "$(dirname "$dir")" || return 1
    # If an earlier run as root created a cluster, it is in another directory and belongs to
    # Postgres' user.
    [ ! -e "$dir/postgres/LOCATION" ] || return 1
    chown -R "$user:$group" "$dir" && "${as_user[@]}" test -w "$dir"
}

as_user=(setpriv --reuid="$user" --regid="$group" --clear-groups --no-new-privs)
if can_drop "$1"; then
    name="$(id -nu "$user" 2>/dev/null || echo "$user")"
    say "runs as user $name, not as root, and $dir now belongs to that user"
    exec env HOME="$dir" "${as_user[@]}" "$@"
fi
say "warning: runs as root, because another user cannot reach $1 or write to $dir. Content from" \
    "the web is decoded with root's rights. Run it as another user, in that user's directory."
exec "$@"
