# shellcheck shell=bash
# Requests to a crawl service, by curl. The other scripts of this folder read this file.

: "${API:?the address of the service, such as http://127.0.0.1:8088}" "${KEY:?a key}"

# call PATH [CURL OPTION...]: sends a request and prints the answer. If the service refuses it,
# prints the code and the detail on stderr, and fails.
call() {
    local answer path="$1"
    shift
    answer="$(mktemp)"
    # A refusal that passes says by Retry-After when to come again, and --retry does so. One that
    # takes longer, such as a quota of the day that is used up, fails at once.
    # A POST whose answer was lost is performed once: the service knows the Idempotency-Key.
    if curl --silent --show-error --fail-with-body --max-time 90 \
        --retry 5 --retry-connrefused --retry-max-time 120 --output "$answer" \
        --header "Authorization: Bearer $KEY" \
        --header "Idempotency-Key: $(openssl rand -hex 16)" \
        "$@" "$API$path"; then
        cat "$answer"
        rm "$answer"
    else
        # Between the service and us may be a proxy, which answers anything.
        jq --raw-output '"\(.code): \(.detail // .title)"' "$answer" >&2 || cat "$answer" >&2
        rm "$answer"
        return 1
    fi
}
