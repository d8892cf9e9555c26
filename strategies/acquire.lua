-- Takes a lease that is free, and draws the fencing token of its holder.
-- KEYS: lease, fence counter.  ARGV: owner, TTL in ms, life of the counter in ms.
-- Returns the token, or nil if the lease is taken.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local token = redis.call('INCR', KEYS[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  return token
end
return false
