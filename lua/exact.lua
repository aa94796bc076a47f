-- exact: part of every script, put in front of it at build time.
--
-- Whole division without rounding. A quotient near a whole number may round to
-- it, and `%` of Lua 5.1 is made from that quotient; fmod is exact.
local function floor_div(a, b)
  return (a - math.fmod(a, b)) / b
end

local function ceil_div(a, b)
  local rest = math.fmod(a, b)
  return (a - rest) / b + (rest > 0 and 1 or 0)
end
