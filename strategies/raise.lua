-- Raises a fence counter to a token that the database has seen; never lowers it.
-- KEYS: fence counter.  ARGV: token, life of the counter in ms.
-- Returns 1, or 0 if the counter was not below the token.
local counter = tonumber(redis.call('GET', KEYS[1]) or '0')
if counter < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return 0
