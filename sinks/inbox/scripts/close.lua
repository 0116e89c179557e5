-- Ends an open wide delivery. From now on readers see the notice, in all inboxes at once.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open, last
--      2 popups    zset    ids of modal notices → score
-- ARGV 1 the epoch that the caller assumes
--      2 id, 3 score
--      4 1 = the notice is modal
--      5 channel for the hint, 6 its message; a line with the old and the new clock is added to it. No hint if the
--        channel is empty
--      7 the origin of the delivery; see common.lua
-- Result: 1
-- Error:  EPOCH <what was found, or none>; LATE: this delivery is not open any more. Nothing was changed.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock', 'open', 'last')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local id, score = ARGV[2], ARGV[3]
if head[3] ~= score .. ' ' .. id then return redis.error_reply('LATE') end
local before = number(head[2])
local clock = math.max(before, number(score))
redis.call('HDEL', KEYS[1], 'open')
redis.call('HSET', KEYS[1], 'clock', text(clock), 'last', newest(head[4], ARGV[7]))
if ARGV[4] == '1' then redis.call('ZADD', KEYS[2], score, id) end
if ARGV[5] ~= '' then redis.call('PUBLISH', ARGV[5], ARGV[6] .. '\n' .. text(before) .. '-' .. text(clock)) end
return 1
