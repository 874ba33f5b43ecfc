# shellcheck shell=bash
# Sends requests to a crawl service with curl. The other scripts in this directory read this file.

: "${API:?the address of the service, such as http://127.0.0.1:8088}" "${KEY:?a key}"

# call PATH [CURL OPTION...]: sends a request and prints the response. If the service rejects the
# request, prints the code and the detail on stderr, and fails.
call() {
    local answer path="$1"
    shift
    answer="$(mktemp)"
    # --retry waits as long as Retry-After says. A longer wait than --retry-max-time, such as for a
    # daily quota, fails immediately. With the Idempotency-Key, a POST whose response was lost is
    # performed only once.
    if curl --silent --show-error --fail-with-body --max-time 90 \
        --retry 5 --retry-connrefused --retry-max-time 120 --output "$answer" \
        --header "Authorization: Bearer $KEY" \
        --header "Idempotency-Key: $(openssl rand -hex 16)" \
        "$@" "$API$path"; then
        cat "$answer"
        rm "$answer"
    else
        # A proxy may have sent the response, so it may not be JSON.
        jq --raw-output '"\(.code): \(.detail // .title)"' "$answer" >&2 || cat "$answer" >&2
        rm "$answer"
        return 1
    fi
}
