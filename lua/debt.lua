-- debt: part of the scripts of both buckets, put in front of them at build
-- time; src/limit/debt.rs in Lua.
--
-- Nothing was owed at `full_at`, and `taken` tokens were taken since. With N
-- tokens per P microseconds, taken * P - N * (now - full_at) is owed, in units
-- of 1/P token.
--
-- A state is three doubles: `full_at` (us), `taken`, and when all of it will
-- be back (us).
local function debt_read(state, now, N, P)
  local debt = {
    now = now, N = N, P = P, full_at = now, taken = 0, done_at = now, repaired = false, stored = state and #state == 24 and state,
    most = math.min(33554431, floor_div(9007199254740991, P)),
  }
  -- What is no state of ours says nothing.
  if state and #state == 24 then
    debt.full_at, debt.taken, debt.done_at = struct.unpack('>ddd', state)
    if debt.full_at > now then
      debt.full_at, debt.repaired = now, true
    end
    debt.taken = math.min(debt.taken, debt.most)
  end
  debt.owed = debt.taken * P - N * (now - debt.full_at)
  if debt.owed <= 0 then
    debt.full_at, debt.taken, debt.done_at, debt.owed = now, 0, now, 0
  end
  return debt
end

local function debt_until_nothing(debt)
  return ceil_div(debt.owed, debt.N)
end

-- When all of it will be back: by the rate of now or, while a debt is not paid,
-- by the slower one that it was made at.
local function debt_done_at(debt)
  return math.max(debt.done_at, debt.now + debt_until_nothing(debt))
end

local function debt_state(debt)
  return struct.pack('>ddd', debt.full_at, debt.taken, debt_done_at(debt))
end

-- Whether it is to be paid back later than its state says: the rate was
-- lowered. What was spent then has to be kept as it is, for longer.
local function debt_outlives(debt)
  return debt.owed > 0 and debt.now + debt_until_nothing(debt) > debt.done_at
end

local function debt_as_stored(debt)
  return string.sub(debt.stored, 1, 16) .. struct.pack('>d', debt_done_at(debt))
end

-- Rounded up, and a second on top: a state may outlive its meaning, never the
-- other way round.
local function debt_ttl(debt)
  local last = math.min(debt_done_at(debt) - debt.now, 9007199254740991)
  return string.format('%.0f', ceil_div(last, 1000) + 1000)
end

-- `cost` is within `size`. Owed and cost added up could pass 2^53.
local function debt_until_fits(debt, cost, size)
  return ceil_div(math.max(0, debt.owed - (size - cost) * debt.P), debt.N)
end

local function debt_room(debt, size)
  return math.max(0, floor_div(size * debt.P - debt.owed, debt.P))
end

-- Whole periods since nothing was owed. Each has brought whole tokens.
local function debt_periods(debt)
  return floor_div(debt.now - debt.full_at, debt.P)
end

local function debt_can_count(debt, cost)
  return debt.taken - debt_periods(debt) * debt.N + cost <= debt.most
end

-- The least time after which `debt_can_count` holds.
local function debt_until_counted(debt, cost)
  local over = math.max(0, debt.taken + cost - debt.most)
  return math.max(0, debt.full_at + ceil_div(over, debt.N) * debt.P - debt.now)
end

local function debt_take(debt, cost)
  local total = math.min(debt.taken + cost, debt.most)
  debt.owed = debt.owed + (total - debt.taken) * debt.P
  local periods = debt_periods(debt)
  debt.full_at = debt.full_at + periods * debt.P
  debt.taken = total - periods * debt.N
end
