-- sliding window: src/limit/sliding_window.rs in Lua, equal in every field.
--
-- KEYS[1]  the state: cells, oldest first, each two doubles: the time of its
--          last hit (us), and what was taken in it
-- ARGV[1]  cost
-- ARGV[2]  limit
-- ARGV[3]  length of the window (us)
-- ARGV[4]  length of a cell (us)
-- given    now (us), mode ('take', 'peek', 'charge', 'refund'), and with
--          'refund' when it was taken (us)
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          delay (us), and the state: of each cell the time of its last hit
--          (us), and what was taken in it
local cost, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local length, cell_length = tonumber(ARGV[3]), tonumber(ARGV[4])
local state = redis.call('GET', KEYS[1]) or ''
if #state % 16 ~= 0 then
  -- What is no state of ours says nothing.
  state = ''
end

-- The cells that are still in the window; those from the future (the clock
-- stepped back) are pulled to now.
local lasts, takens, count, sum, repaired = {}, {}, 0, 0, false
for at = 1, #state, 16 do
  local last, taken = struct.unpack('>dd', state, at)
  if last > now then
    last, repaired = now, true
  end
  if last + length > now then
    count = count + 1
    lasts[count], takens[count] = last, taken
    sum = sum + taken
  end
end

local function write()
  local packed = {}
  for i = 1, count do
    if takens[i] > 0 then
      packed[#packed + 1] = struct.pack('>dd', lasts[i], takens[i])
    end
  end
  local ttl = string.format('%.0f', ceil_div(math.max(0, (lasts[count] or now) + length - now), 1000) + 1000)
  redis.call('SET', KEYS[1], table.concat(packed), 'PX', ttl)
end

if mode == 'refund' then
  for i = 1, count do
    if floor_div(lasts[i], cell_length) == floor_div(extra, cell_length) then
      takens[i] = math.max(0, takens[i] - cost)
      write()
      break
    end
  end
  return 1, 0, 0, 0, 0
end

local fits = sum + cost <= limit
local taken = cost > 0 and (mode == 'charge' or (mode ~= 'peek' and fits))
if taken then
  local counted = math.min(cost, math.max(0, 33554431 - sum))
  if counted == 0 then
    -- As much is counted as can be.
  elseif count > 0 and (count == 17 or floor_div(lasts[count], cell_length) == floor_div(now, cell_length)) then
    lasts[count], takens[count] = now, takens[count] + counted
  else
    count = count + 1
    lasts[count], takens[count] = now, counted
  end
  sum = sum + counted
end
if taken or (repaired and not fits and mode ~= 'peek') then
  write()
end

local retry = 0
if not fits and cost > limit then
  retry = -1
elseif not fits then
  local over = sum + cost - limit
  for i = 1, count do
    over = over - takens[i]
    if over <= 0 then
      retry = lasts[i] + length - now
      break
    end
  end
end
local reset = count > 0 and lasts[count] + length - now or 0
-- A state of ours has 17 cells at most.
local cells = {}
for i = 1, math.min(count, 17) do
  cells[2 * i - 1], cells[2 * i] = lasts[i], takens[i]
end
return fits and 1 or 0, math.max(0, limit - sum), retry, reset, 0, unpack(cells)
