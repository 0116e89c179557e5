-- Removes marks of notices that are gone: looks through a part of a user's marks, and of its watermarks. read.lua comes
-- before this text.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 readers   zset    user that has marks → when the marks are looked through, µs
--      4 marks, 5 upto of the user: see read.lua
--      6 … 5+s     zset    inboxes that upto names
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 after how many µs the marks are looked through again
--      4 the user
--      5 for how many µs a mark stays at least: its notice may not be delivered yet
--      6 the place of the first mark to look at, from 0, 7 how many marks at most
--      then s × subscriber, in the order of the keys
-- Result: how many entries were removed, the place of the next mark to look at; -1 = there is none.
-- Error:  EPOCH <what was found, or none>; nothing was changed.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local now = time(ARGV[2])
local first, most, old = tonumber(ARGV[6]), tonumber(ARGV[7]), now - tonumber(ARGV[5])

local gone, following, list = 0, -1, {}
if most > 0 then list = redis.call('ZRANGE', KEYS[4], first, first + most - 1, 'WITHSCORES') end
for i = 1, #list, 2 do
  if number(list[i + 1]) <= old and redis.call('HEXISTS', KEYS[2], string.sub(list[i], 3)) == 0 then
    gone = gone + redis.call('ZREM', KEYS[4], list[i])
  end
end
if #list > 0 and #list == 2 * most and number(list[#list]) <= old then following = first + most - gone end

-- Remove watermarks below which their inboxes hold no notice.
local place = {}
for i = 8, #ARGV do place[ARGV[i]] = KEYS[i - 2] end
for _, member in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do
  local score, inbox = string.match(member, '^(%d+) (.+)$')
  if score and place[inbox] and redis.call('ZCOUNT', place[inbox], '-inf', score) == 0 then
    gone = gone + redis.call('ZREM', KEYS[5], member)
  end
end
if redis.call('ZCARD', KEYS[5]) == 1 then redis.call('ZREM', KEYS[5], '-') end

if redis.call('EXISTS', KEYS[4], KEYS[5]) == 0 then
  redis.call('ZREM', KEYS[3], ARGV[4])
else
  redis.call('ZADD', KEYS[3], text(now + tonumber(ARGV[3])), ARGV[4])
end
return {gone, following}
