-- What the scripts of the line have in common; it stands before each of them.
-- KEYS: lease, fence counter, line.  ARGV: owner, place, TTL in ms, life of counter and line in ms.
--
-- The line is a sorted set of places by arrival, in µs. A place is "owner patience channel": who waits, for how many ms,
-- and where it is told.
local lease, counter, line = KEYS[1], KEYS[2], KEYS[3]
local owner, place, ttl, life = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- grant gives the lease to an owner, whoever had it, and returns the fencing token.
local function grant(to)
  redis.call('SET', lease, to, 'PX', ttl)
  local token = redis.call('INCR', counter)
  redis.call('PEXPIRE', counter, life)
  return token
end

-- hand grants the lease to the longest waiter that is still there, and tells it. It returns the new owner and its token,
-- or nothing if nobody waits. Passed over are those who must have given up by now, and those whose process is gone.
local function hand()
  local time = now()
  while true do
    local first = redis.call('ZPOPMIN', line)
    if #first == 0 then return end
    local to, patience, channel = string.match(first[1], '^(%S+) (%d+) (.+)$')
    if time < first[2] + patience * 1000 then
      local token = grant(to)
      if to == owner or redis.call('PUBLISH', channel, string.format('%s %.0f', to, token)) > 0 then
        return to, token
      end
    end
  end
end

