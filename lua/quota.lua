-- quota: src/limit/quota.rs in Lua, equal in every field.
--
-- KEYS[1]  the state, see window.lua
-- ARGV[1]  cost
-- ARGV[2]  limit
-- ARGV[3], ARGV[4], ARGV[5], ARGV[6]
--          four boundaries in a row (us, Unix time), which the caller worked out
--          around its own time: Lua has no time zones
-- given    now (us), mode ('take', 'peek', 'charge', 'refund'), and with
--          'refund' when it was taken (us)
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          delay (us), and the state: ends at (us), taken; allowed is -2, and
--          nothing was done, where the server's time is outside the
--          boundaries: ask again with those around it
local cost, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local began, ends
local bounds = {tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])}
for i = 1, 3 do
  if bounds[i] <= now and now < bounds[i + 1] then
    began, ends = bounds[i], bounds[i + 1]
  end
end
if not began then
  return -2, 0, 0, 0, 0
end

local state = redis.call('GET', KEYS[1])
if mode == 'refund' then
  local write, ttl = window_refund(state, began, now, cost, extra)
  if write then
    redis.call('SET', KEYS[1], write, 'PX', ttl)
  end
  return 1, 0, 0, 0, 0
end

local allowed, remaining, retry, reset, delay, write, ttl, ends_at, taken =
  window_decide(state, limit, ends, now, cost, mode)
if write then
  redis.call('SET', KEYS[1], write, 'PX', ttl)
end
return allowed, remaining, retry, reset, delay, ends_at, taken
