-- Asks for one path a key, by turns and without a pause, for scripts/bench/api.py. Arguments: a
-- key, its path, and so on. Prints what wrk saw as one line of JSON.

function init(arguments)
    requests, turn = {}, 0
    for place = 1, #arguments, 2 do
        local headers = { ["Authorization"] = "Bearer " .. arguments[place] }
        table.insert(requests, wrk.format("GET", arguments[place + 1], headers))
    end
end

function request()
    turn = turn % #requests + 1
    return requests[turn]
end

function done(summary, latency)
    local errors = summary.errors
    print(string.format(
        '{"answered": %d, "refused": %d, "broken": %d, "seconds": %.2f, "p50_ms": %.2f, '
        .. '"p99_ms": %.2f}', summary.requests, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout, summary.duration / 1e6,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
