-- Removes inboxes of an epoch that is over.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      3 … 2+s     zset    the inboxes to remove
-- ARGV 1 the epoch that begins
--      then s × subscriber, in the order of the keys
-- Result: how many were removed.
-- Error:  EPOCH <what was found, or none> if that one is not older.

local function number(epoch) return tonumber(string.match(epoch, '^%d+')) or 0 end

local found = redis.call('HGET', KEYS[1], 'epoch')
if found and number(found) >= number(ARGV[1]) then
  return redis.error_reply('EPOCH ' .. found)
end
for i = 3, #KEYS do
  redis.call('UNLINK', KEYS[i])
  redis.call('ZREM', KEYS[2], ARGV[i - 1])
end
return #KEYS - 2
