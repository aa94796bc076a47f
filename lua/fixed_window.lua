-- fixed window: src/limit/fixed_window.rs in Lua, equal in every field.
--
-- KEYS[1]  the state, see window.lua
-- ARGV[1]  cost
-- ARGV[2]  limit
-- ARGV[3]  length of the window (us)
-- ARGV[4]  1 if a window keeps the length it was opened with
-- given    now (us), mode ('take', 'peek', 'charge', 'refund'), and with
--          'refund' when it was taken (us)
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          delay (us), and the state: ends at (us), taken
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

local fresh_end = now + length
if ARGV[4] == '1' and state and #state == 16 then
  local stored_end = struct.unpack('>dd', state)
  if now < stored_end then
    fresh_end = math.min(stored_end, now + 366 * 86400e6)
  end
end
local allowed, remaining, retry, reset, delay, write, ttl, ends_at, taken =
  window_decide(state, limit, fresh_end, now, cost, mode)
if write then
  redis.call('SET', KEYS[1], write, 'PX', ttl)
end
return allowed, remaining, retry, reset, delay, ends_at, taken
