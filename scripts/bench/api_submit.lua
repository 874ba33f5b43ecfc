-- Submits distinct URLs at an even rate, for scripts/bench/api.py. Arguments: requests a second of
-- a thread, seconds, then keys. Prints what wrk saw as one line of JSON.

local ffi = require("ffi")
ffi.cdef [[
    typedef struct { long seconds, nanoseconds; } api_bench_time;
    int clock_gettime(int clock, api_bench_time *time);
]]
local MONOTONIC, SITES = 1, 20000
local clock = ffi.new("api_bench_time")
local threads = {}

local function now()
    ffi.C.clock_gettime(MONOTONIC, clock)
    return tonumber(clock.seconds) + tonumber(clock.nanoseconds) / 1e9
end

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

function init(arguments)
    rate, seconds = tonumber(arguments[1]), tonumber(arguments[2])
    keys = { unpack(arguments, 3) }
    turns, sent, accepted, refused = 0, 0, 0, 0
    start = now()
end

-- Milliseconds until the next request: the turn of each is fixed, so that a slow answer makes no
-- pause but a burst of those that were due meanwhile.
function delay()
    turns = turns + 1
    local turn = start + turns / rate
    if turn > start + seconds then
        return 3600000
    end
    return math.max(0, math.floor((turn - now()) * 1000))
end

function request()
    sent = sent + 1
    local url = string.format("https://www.site-%d.test/%d/%d", math.random(SITES), number, sent)
    local headers = {
        ["Content-Type"] = "application/json",
        ["Authorization"] = "Bearer " .. keys[sent % #keys + 1],
    }
    return wrk.format("POST", "/v1/url", headers, '{"url": "' .. url .. '"}')
end

function response(status)
    if status == 202 then
        accepted = accepted + 1
    else
        refused = refused + 1
    end
end

function done(summary, latency)
    local sum = { sent = 0, accepted = 0, refused = 0 }
    for _, thread in ipairs(threads) do
        for name in pairs(sum) do
            sum[name] = sum[name] + thread:get(name)
        end
    end
    local errors = summary.errors
    -- Before it begins, wrk makes one request that it does not send.
    sum.sent = sum.sent - 1
    print(string.format(
        '{"sent": %d, "accepted": %d, "refused": %d, "broken": %d, "p50_ms": %.1f, "p99_ms": %.1f}',
        sum.sent, sum.accepted, sum.refused, errors.connect + errors.read + errors.write
        + errors.timeout, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
