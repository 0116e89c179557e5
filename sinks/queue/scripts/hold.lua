-- Writes back the dedupe keys of ended items whose windows are still open.
--
-- KEYS 1 meta      hash  epoch
--      2 dedupe    hash  bucket → "<until, µs> <id>"
--      3 windows   zset  bucket → when its entry is no longer needed, µs
-- ARGV 1 epoch
--      then for each key: bucket, entry, when the entry is no longer needed
-- Result: how many keys were given. A bucket that exists already is left as it is.
-- Error:  EPOCH <what was found, or none>

local epoch = redis.call('HGET', KEYS[1], 'epoch') or 'none'
if epoch ~= ARGV[1] then return redis.error_reply('EPOCH ' .. epoch) end
for i = 2, #ARGV, 3 do
  if redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[i + 1]) == 1 then
    redis.call('ZADD', KEYS[3], ARGV[i + 2], ARGV[i])
  end
end
return (#ARGV - 1) / 3
