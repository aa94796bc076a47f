-- fixed window: src/limit/fixed_window.rs in Lua, equal in every field.
--
-- KEYS[1]  the state: two doubles, when the window ends (us) and how many
--          tokens were taken in it
-- ARGV[1]  limit
-- ARGV[2]  length of the window (us)
-- ARGV[3]  cost
-- ARGV[4]  'take', 'peek' or 'charge'
-- ARGV[5]  a number that comes back, so that no reply is taken for another's
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          ARGV[5]
local limit, length = tonumber(ARGV[1]), tonumber(ARGV[2])
local cost, mode = tonumber(ARGV[3]), ARGV[4]

local state = redis.call('GET', KEYS[1])
local now = clock()
local ends_at, taken, repaired = now + length, 0, false
if state then
  local stored_end, stored_taken = struct.unpack('>dd', state)
  if now < stored_end then
    repaired = stored_end > ends_at
    ends_at, taken = math.min(stored_end, ends_at), stored_taken
  end
end

local fits = taken + cost <= limit
local charged = cost > 0 and ((mode == 'take' and fits) or mode == 'charge')
if charged then
  taken = math.min(taken + cost, 33554431)
end

local left = ends_at - now
if charged or (repaired and not fits and mode ~= 'peek') then
  -- The state holds its own end; the TTL only collects garbage.
  local ttl = string.format('%.0f', ceil_div(left, 1000) + 1000)
  redis.call('SET', KEYS[1], struct.pack('>dd', ends_at, taken), 'PX', ttl)
end

local retry = 0
if cost > limit then
  retry = -1
elseif not fits then
  retry = left
end
return {fits and 1 or 0, math.max(0, limit - taken), retry, taken > 0 and left or 0, tonumber(ARGV[5])}
