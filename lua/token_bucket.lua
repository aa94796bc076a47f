-- token bucket: src/limit/token_bucket.rs in Lua, equal in every field.
--
-- KEYS[1]  the state: three doubles, when the bucket was full (us), how many
--          tokens were taken since, and when all of them will be back (us)
-- ARGV[1]  N, ARGV[2] P: the rate, N tokens per P microseconds
-- ARGV[3]  capacity
-- ARGV[4]  cost
-- ARGV[5]  'take', 'peek' or 'charge'
-- ARGV[6]  a number that comes back, so that no reply is taken for another's
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          ARGV[6]
--
-- The caller keeps N <= 2^20, capacity + N < 2^25 and (capacity + N) * P < 2^53,
-- so every product here is a whole number that a double holds exactly.
local N, P = tonumber(ARGV[1]), tonumber(ARGV[2])
local capacity, cost, mode = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local most = math.min(33554431, floor_div(9007199254740991, P))

local state = redis.call('GET', KEYS[1])
local now = clock()
local full_at, taken, done_at, repaired = now, 0, now, false
if state then
  full_at, taken, done_at = struct.unpack('>ddd', state)
  if full_at > now then
    full_at, repaired = now, true
  end
  taken = math.min(taken, most)
end

local debt = taken * P - N * (now - full_at)
if debt <= 0 then
  full_at, taken, debt = now, 0, 0
end

-- What may be owed before; debt and cost added up could pass 2^53.
local room = (capacity - cost) * P
local fits = cost <= capacity and debt <= room
local charged = cost > 0 and ((mode == 'take' and fits) or mode == 'charge')
if charged then
  local total = math.min(taken + cost, most)
  debt = debt + (total - taken) * P
  local periods = floor_div(now - full_at, P)
  full_at = full_at + periods * P
  taken = total - periods * N
end

local reset = ceil_div(debt, N)
if charged or (repaired and not fits and mode ~= 'peek') then
  state = struct.pack('>dd', full_at, taken)
elseif fits or mode == 'peek' or debt == 0 or now + reset <= done_at then
  state = nil
end
-- Else it was refused at a lower rate than it was written for: what was spent
-- has to be kept as it is, for longer.
if state then
  -- Rounded up, and a second on top: a state may outlive its meaning, never
  -- the other way round.
  local ttl = string.format('%.0f', ceil_div(reset, 1000) + 1000)
  state = string.sub(state, 1, 16) .. struct.pack('>d', now + reset)
  redis.call('SET', KEYS[1], state, 'PX', ttl)
end

local retry = 0
if cost > capacity then
  retry = -1
elseif not fits then
  retry = ceil_div(debt - room, N)
end
return {fits and 1 or 0, math.max(0, floor_div(capacity * P - debt, P)), retry, reset, tonumber(ARGV[6])}
