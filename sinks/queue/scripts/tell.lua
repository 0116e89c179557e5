-- Appends an entry to the outbox, for moves of a rebuild or a repair.
--
-- KEYS 1 meta      hash  epoch, out, moved
--      2 outbox    list  moves that the ledger does not have yet; see common.lua
-- ARGV 1 epoch
--      2 time and node: the first line of the entry, without the number
--      3 how many moves there are
--      4 their lines
-- Result: the entry's number.
-- Error:  EPOCH <what was found, or none>

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'moved')
local epoch = meta[1] or 'none'
if epoch ~= ARGV[1] then return redis.error_reply('EPOCH ' .. epoch) end
redis.call('RPUSH', KEYS[2], ARGV[2] .. ' ' .. string.format('%.0f', tonumber(meta[2]) or 0) .. '\n' .. ARGV[4])
redis.call('HINCRBY', KEYS[1], 'moved', ARGV[3])
return redis.call('HINCRBY', KEYS[1], 'out', 1)
