-- Puts the notice of an open wide delivery into some inboxes. Idempotent. cap.lua comes before this text.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open
--      2 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      3 wide      zset    id of a wide notice → how many inboxes hold it
--      4 to        hash    the recipients of the notice: number of a portion → its subscribers, separated by spaces
--      5 … 4+s     zset    the inbox of each subscriber
--      then s      list    the log of each inbox: the last scores that the cap removed
-- ARGV 1 the epoch that the caller assumes
--      2 cap: how many notices an inbox keeps
--      3 id, 4 score
--      5 number of the portion, 6 its subscribers, separated by spaces, in the order of the keys
-- Result: the ids of notices that the cap has removed, and that may be in no inbox any more.
-- Error:  EPOCH <what was found, or none>; LATE: this delivery is not open any more. Nothing was changed.

local CHUNK = 1000

local head = redis.call('HMGET', KEYS[1], 'epoch', 'open')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local id, score = ARGV[3], ARGV[4]
if head[2] ~= score .. ' ' .. id then return redis.error_reply('LATE') end

redis.call('HSET', KEYS[4], ARGV[5], ARGV[6])
local names, register = {}, {}
for name in string.gmatch(ARGV[6], '%S+') do
  names[#names + 1] = name
  register[#register + 1] = '0'
  register[#register + 1] = name
end
for i = 1, #register, CHUNK do
  redis.call('ZADD', KEYS[2], 'NX', unpack(register, i, math.min(i + CHUNK - 1, #register)))
end
local c, added = newCut(KEYS[2], KEYS[3], tonumber(ARGV[2]), SURPLUS), 0
for i, name in ipairs(names) do
  added = added + redis.call('ZADD', KEYS[4 + i], score, id)
  c.left = c.left + 1
  cut(c, KEYS[4 + i], KEYS[4 + #names + i], name)
end
redis.call('ZINCRBY', KEYS[3], added, id)
-- The clock does not move yet, but readers have seen the notices that the cap removed. So their counts must be made
-- anew.
if #c.gone > 0 then redis.call('HINCRBY', KEYS[1], 'sweeps', 1) end
return homeless(c)
