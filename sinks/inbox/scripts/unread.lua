-- Continues a count of unread notices that poll.lua began. Changes nothing. read.lua and count.lua come before this
-- text.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 expiry    zset    block of ids → when they expire, µs
--      3 … 2+s     zset    the inboxes
--      then, if there is a reader, its keys marks and upto: see read.lua
-- ARGV 1 the epoch that the caller assumes
--      2 the time of the poll, µs
--      3 the clock up to which notices count
--      4 1 if there is a reader, 0 if not
--      5 the inbox (1 …) and 6 the score where to continue
--      7 how far the count goes
--      then s × subscriber, in the order of the keys
-- Result: how many were found, the inbox and the score where to continue; inbox 0 = the count is complete.
-- Error:  EPOCH <what was found, or none>; DUE as in poll.lua.

local found = redis.call('HGET', KEYS[1], 'epoch')
if found ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (found or 'none'))
end
local names, keys = {}, {}
for i = 8, #ARGV do
  names[i - 7] = ARGV[i]
  keys[i - 7] = KEYS[i - 5]
end
local expired, failed = expiredBy(KEYS[2], tonumber(ARGV[2]))
if not expired then return failed end
local state = nil
if ARGV[4] == '1' then state = readState(KEYS[#KEYS - 1], KEYS[#KEYS], names, keys) end
local count, inbox, below = countSome(state, keys, tonumber(ARGV[3]), expired, tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]))
return {count, inbox, text(below)}
