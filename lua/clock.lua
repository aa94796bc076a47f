-- clock: part of every script, put in front of it at build time.
--
-- The server's time in whole microseconds. A script calls it once: TIME is not
-- frozen while a script runs.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
