-- Gives the lease back by handing it to the longest waiter, or leaves the line if the lease is not the owner's.
-- Returns 1, or 0 if the lease has ended or is another's.
if redis.call('GET', lease) ~= owner then
  redis.call('ZREM', line, place)
  return 0
end
if not hand() then
  redis.call('DEL', lease)
end
return 1
