-- concurrency: at most so many permits at once.
--
-- KEYS[1]  a sorted set: permits by the time at which they lapse (us)
-- ARGV[1]  cost: 1 takes a permit, 0 looks
-- ARGV[2]  max
-- ARGV[3]  lease (us)
-- ARGV[4]  the permit's name
-- given    now (us), mode ('take', 'peek', 'renew', 'refund': release)
-- reply    allowed, remaining, retry after (us, -1: never), reset after (us),
--          delay (us); for 'renew' and 'refund', allowed says whether the
--          permit was still there
local cost, max, lease, permit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local until_lapse = string.format('%.0f', now + lease)
local ttl = function()
  local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  return string.format('%.0f', ceil_div(math.max(0, tonumber(last or now) - now), 1000) + 1000)
end

if mode == 'refund' then
  local lapses = tonumber(redis.call('ZSCORE', KEYS[1], permit) or 0)
  redis.call('ZREM', KEYS[1], permit)
  return lapses > now and 1 or 0, 0, 0, 0, 0
end
if mode == 'renew' then
  local lapses = tonumber(redis.call('ZSCORE', KEYS[1], permit) or 0)
  if lapses <= now then
    return 0, 0, 0, 0, 0
  end
  redis.call('ZADD', KEYS[1], until_lapse, permit)
  redis.call('PEXPIRE', KEYS[1], ttl())
  return 1, 0, 0, 0, 0
end

local in_use = redis.call('ZCOUNT', KEYS[1], string.format('(%.0f', now), '+inf')
local fits = in_use + cost <= max
if fits and cost > 0 and mode ~= 'peek' then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
  redis.call('ZADD', KEYS[1], until_lapse, permit)
  redis.call('PEXPIRE', KEYS[1], ttl())
  in_use = in_use + cost
end

-- When a permit will be released nobody knows; a second is a fair time to come
-- back.
local retry = 0
if cost > max then
  retry = -1
elseif not fits then
  retry = 1000000
end
return fits and 1 or 0, math.max(0, max - in_use), retry, 0, 0
