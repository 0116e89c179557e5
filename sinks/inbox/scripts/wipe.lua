-- Removes inboxes and marks of an epoch that is over.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      3 readers   zset    user that has marked something → when its marks are looked through, µs
--      4 … 3+s     zset    the inboxes to remove
--      then for each user its marks and its upto
-- ARGV 1 the epoch that begins
--      2 s, then s × subscriber, in the order of the keys
--      then each user, in the order of the keys
-- Result: how many keys there were to remove.
-- Error:  EPOCH <what was found, or none> if that one is not older.

local function number(epoch) return tonumber(string.match(epoch, '^%d+')) or 0 end

local found = redis.call('HGET', KEYS[1], 'epoch')
if found and number(found) >= number(ARGV[1]) then
  return redis.error_reply('EPOCH ' .. found)
end
for i = 4, #KEYS do redis.call('UNLINK', KEYS[i]) end
local s = tonumber(ARGV[2])
for i = 3, #ARGV do
  redis.call('ZREM', i <= 2 + s and KEYS[2] or KEYS[3], ARGV[i])
end
return #KEYS - 3
