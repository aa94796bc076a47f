-- composite: the end of a script of several parts, put behind them at build
-- time. All or nothing.
--
-- given    parts, now (us), mode, extra; dry: 0 or 1 for each part that counts
--          as passing whatever it says
-- reply    sequence, now (us), then five numbers a part; behind them the
--          states, each with the count of its numbers in front
local looks, pass = {}, true
for i, part in ipairs(parts) do
  looks[i] = {part(now, 'peek', 0)}
  local is_dry = string.sub(dry, i, i) == '1'
  if looks[i][1] == -2 or (looks[i][1] == 0 and not is_dry) then
    pass = false
  end
end
local reply, states = {sequence, now}, {}
for i, part in ipairs(parts) do
  -- Where one refuses, only the refused run for good: they write nothing but
  -- the repair of a state from the future.
  local result = looks[i]
  if pass or looks[i][1] == 0 then
    result = {part(now, mode, extra)}
  end
  for n = 1, 5 do
    reply[#reply + 1] = result[n]
  end
  states[#states + 1] = #result - 5
  for n = 6, #result do
    states[#states + 1] = result[n]
  end
end
for _, number in ipairs(states) do
  reply[#reply + 1] = number
end
return reply
