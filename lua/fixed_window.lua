-- fixed window: src/limit/fixed_window.rs in Lua, equal in every field.
--
-- KEYS[1]  the state, see window.lua
-- ARGV[1]  cost
-- ARGV[2]  limit
-- ARGV[3]  length of the window (us)
-- given    now (us), mode ('take', 'peek', 'charge', 'refund'), and with
--          'refund' when it was taken (us)
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          delay (us)
local cost, limit, length = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local state = redis.call('GET', KEYS[1])
if mode == 'refund' then
  local ends_at = state and #state == 16 and struct.unpack('>dd', state) or 0
  local write, ttl = window_refund(state, ends_at - length, now, cost, extra)
  if write then
    redis.call('SET', KEYS[1], write, 'PX', ttl)
  end
  return 1, 0, 0, 0, 0
end

local allowed, remaining, retry, reset, delay, write, ttl =
  window_decide(state, limit, now + length, now, cost, mode)
if write then
  redis.call('SET', KEYS[1], write, 'PX', ttl)
end
return allowed, remaining, retry, reset, delay
