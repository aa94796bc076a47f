-- window: part of the scripts of fixed windows and quotas, put in front of them
-- at build time; src/limit/window.rs in Lua.
--
-- The state is two doubles: when the window ends (us), and what was taken in it.
-- Decides in the window of `state` or, if that is over, in one that would end
-- at `fresh_end`. The sixth value is the state to write, the seventh its TTL;
-- then comes the state in numbers.
local function window_decide(state, limit, fresh_end, now, cost, mode)
  local ends_at, taken, repaired = fresh_end, 0, false
  -- What is no state of ours says nothing.
  if state and #state == 16 then
    local stored_end, stored_taken = struct.unpack('>dd', state)
    if now < stored_end then
      repaired = stored_end > fresh_end
      ends_at, taken = math.min(stored_end, fresh_end), stored_taken
    end
  end
  local fits = taken + cost <= limit
  local takes = cost > 0 and (mode == 'charge' or (mode ~= 'peek' and fits))
  if takes then
    taken = math.min(taken + cost, 33554431)
  end
  local left = ends_at - now
  local write, ttl
  if takes or (repaired and not fits and mode ~= 'peek') then
    -- The state holds its own end; the TTL only collects garbage.
    write = struct.pack('>dd', ends_at, taken)
    ttl = string.format('%.0f', ceil_div(left, 1000) + 1000)
  end
  local retry = 0
  if cost > limit then
    retry = -1
  elseif not fits then
    retry = left
  end
  return fits and 1 or 0, math.max(0, limit - taken), retry, taken > 0 and left or 0, 0, write, ttl, ends_at, taken
end

-- The state without `cost`, and its TTL; nothing if the window is over or began
-- after `taken_at`.
local function window_refund(state, began, now, cost, taken_at)
  if not state or #state ~= 16 then
    return
  end
  local ends_at, taken = struct.unpack('>dd', state)
  if now >= ends_at or taken_at < (began or ends_at) then
    return
  end
  local ttl = string.format('%.0f', ceil_div(ends_at - now, 1000) + 1000)
  return struct.pack('>dd', ends_at, math.max(0, taken - cost)), ttl
end
