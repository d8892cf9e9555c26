-- Takes the lease if it is free and nobody waits; otherwise waits in line for it, at the end unless it is in line already.
-- Returns the fencing token, or minus the ms after which to ask again if nothing was heard until then.
local holder = redis.call('GET', lease)
if holder == owner then
  return grant(owner) -- it was handed over, and the message was lost
end
if not holder then
  -- The last holder never gave it back.
  local to, token = hand()
  if to == owner then return token end
  if not to then return grant(owner) end
end
local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or 0
local arrival = math.max(now(), last + 1) -- the clock may have been set back
if redis.call('ZADD', line, 'NX', arrival, place) == 1 then
  redis.call('PEXPIRE', line, life)
end
local left = redis.call('PTTL', lease) + 1 -- then it is over
if left < 1 or left > tonumber(ttl) then
  left = tonumber(ttl) -- the lease is a stranger's: it may be given back at any time, and nobody will be told
end
return -left
