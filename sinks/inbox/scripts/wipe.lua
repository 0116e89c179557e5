-- Removes inboxes, marks and recipients of wide notices of an epoch that is over. The warehouse is claimed for the next
-- epoch (begin.lua), so no other script can write there.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      3 readers   zset    user that has marks → when the marks are looked through, µs
--      4 wide      zset    id of a wide notice → how many inboxes hold it
--      5 …         for each inbox the inbox and its log, for each user marks and upto, for each wide notice its
--                  recipients (to)
-- ARGV 1 the epoch that begins
--      2 the number of inboxes, 3 of users
--      then the inboxes' subscribers, the users, the ids of wide notices, in the order of the keys
-- Result: how many keys were given for removal.
-- Error:  EPOCH <what was found, or none> if the warehouse is not claimed for the epoch. Nothing was changed.

local found = redis.call('HGET', KEYS[1], 'epoch')
if found ~= ARGV[1] .. ':begins' then
  return redis.error_reply('EPOCH ' .. (found or 'none'))
end
for i = 5, #KEYS do redis.call('UNLINK', KEYS[i]) end
local inboxes, users = tonumber(ARGV[2]), tonumber(ARGV[3])
for i = 4, #ARGV do
  local registry = KEYS[4]
  if i <= 3 + inboxes then
    registry = KEYS[2]
  elseif i <= 3 + inboxes + users then
    registry = KEYS[3]
  end
  redis.call('ZREM', registry, ARGV[i])
end
return #KEYS - 4
