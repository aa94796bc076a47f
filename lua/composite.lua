-- composite: the end of a script of several parts, put behind them at build
-- time. All or nothing.
--
-- given    parts, now (us), mode, extra; dry: a bit for each part that counts
--          as passing whatever it says
-- reply    sequence, now (us), then five numbers a part
local looks, pass = {}, true
for i, part in ipairs(parts) do
  looks[i] = {part(now, 'peek', 0)}
  local is_dry = math.floor(dry / 2 ^ (i - 1)) % 2 == 1
  if looks[i][1] == -2 or (looks[i][1] == 0 and not is_dry) then
    pass = false
  end
end
local reply = {sequence, now}
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
end
return reply
