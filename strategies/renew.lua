-- Lets a lease last for a whole TTL from now, if it still belongs to its owner.
-- KEYS: lease.  ARGV: owner, TTL in ms.
-- Returns 1, or 0 if the lease has ended or is another's.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
