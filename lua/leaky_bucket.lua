-- leaky bucket: src/limit/leaky_bucket.rs in Lua, equal in every field.
--
-- KEYS[1]  the state, see debt.lua
-- ARGV[1]  cost
-- ARGV[2]  N, ARGV[3] P: the rate, N go out per P microseconds
-- ARGV[4]  capacity
-- given    now (us), mode ('take', 'peek', 'charge', 'reserve', 'refund'), and
--          with 'reserve' the longest wait (us)
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          delay (us), and the state: empty at (us), taken
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

-- What is in the queue goes out first.
local delay = debt_until_nothing(debt)
local in_time = mode ~= 'reserve' or delay <= extra
local fits = in_time and cost <= capacity and debt_until_fits(debt, cost, capacity) == 0
local taken = cost > 0 and (mode == 'charge' or (mode ~= 'peek' and fits))
if taken then
  debt_take(debt, cost)
end
if taken or (debt.repaired and not fits and mode ~= 'peek') then
  redis.call('SET', KEYS[1], debt_state(debt), 'PX', debt_ttl(debt))
elseif not fits and mode ~= 'peek' and debt_outlives(debt) then
  redis.call('SET', KEYS[1], debt_as_stored(debt), 'PX', debt_ttl(debt))
end

local retry = 0
if not fits and cost > capacity then
  retry = -1
elseif not fits then
  retry = debt_until_fits(debt, cost, capacity)
  if mode == 'reserve' then
    retry = math.max(retry, debt_until_nothing(debt) - extra)
  end
end
return fits and 1 or 0, debt_room(debt, capacity), retry, debt_until_nothing(debt), fits and delay or 0,
  debt.full_at, debt.taken
