-- For wrk, which by itself tells only good answers from bad: how many came with
-- which status.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  counts = {}
end

function response(status)
  counts[status] = (counts[status] or 0) + 1
end

function done(summary)
  local all = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("counts")) do
      all[status] = (all[status] or 0) + count
    end
  end
  for status, count in pairs(all) do
    io.write("status ", status, " ", count, "\n")
  end
  io.write("rate ", summary.requests / summary.duration * 1e6, "\n")
end
