-- Deletes a lease if it still belongs to its owner.
-- KEYS: lease.  ARGV: owner.
-- Returns 1, or 0 if the lease has ended or is another's.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
