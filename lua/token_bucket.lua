-- token bucket: src/limit/token_bucket.rs in Lua, equal in every field.
--
-- KEYS[1]  the state, see debt.lua
-- ARGV[1]  cost
-- ARGV[2]  N, ARGV[3] P: the rate, N tokens per P microseconds
-- ARGV[4]  capacity
-- given    now (us), mode ('take', 'lease', 'peek', 'charge', 'reserve',
--          'refund'), with 'reserve' the longest wait (us), and with 'lease'
--          how many tokens to take on top, at most a quarter of what is left
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          delay (us; with 'lease' the tokens that were taken on top), and the
--          state: full at (us), taken
--
-- The caller keeps N <= 2^20, capacity + N < 2^25 and (capacity + N) * P < 2^53,
-- so every product here is a whole number that a double holds exactly.
local cost, N, P = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local capacity = tonumber(ARGV[4])
local debt = debt_read(redis.call('GET', KEYS[1]), now, N, P)
if mode == 'refund' then
  if debt.stored then
    debt.taken = math.max(0, debt.taken - cost)
    redis.call('SET', KEYS[1], debt_state(debt), 'PX', debt_ttl(debt))
  end
  return 1, 0, 0, 0, 0
end

local max_wait = mode == 'reserve' and extra or 0
local possible = cost <= capacity
local wait = possible and debt_until_fits(debt, cost, capacity) or 0
local fits = possible and wait <= max_wait and debt_can_count(debt, cost)
local taken = cost > 0 and (mode == 'charge' or (mode ~= 'peek' and fits))
local on_top = 0
if taken then
  debt_take(debt, cost)
  if mode == 'lease' then
    on_top = math.min(extra, floor_div(debt_room(debt, capacity), 4))
    debt_take(debt, on_top)
  end
end
if taken or (debt.repaired and not fits and mode ~= 'peek') then
  redis.call('SET', KEYS[1], debt_state(debt), 'PX', debt_ttl(debt))
elseif not fits and mode ~= 'peek' and debt_outlives(debt) then
  redis.call('SET', KEYS[1], debt_as_stored(debt), 'PX', debt_ttl(debt))
end

local retry = 0
if not possible then
  retry = -1
elseif not fits then
  retry = math.max(0, debt_until_fits(debt, cost, capacity) - max_wait)
  if max_wait > 0 then
    retry = math.max(retry, debt_until_counted(debt, cost))
  end
end
local delay = mode == 'lease' and on_top or fits and wait or 0
return fits and 1 or 0, debt_room(debt, capacity), retry, debt_until_nothing(debt), delay,
  debt.full_at, debt.taken
