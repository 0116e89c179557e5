-- Appends an entry to the outbox: what a rebuild has changed.
--
-- KEYS 1 meta      hash  epoch, out
--      2 outbox    list  what has moved and is not in the ledger yet
-- ARGV 1 epoch
--      2 the entry, as step.lua writes one
-- Result: its position.
-- Error:  EPOCH <what was found, or none>

local epoch = redis.call('HGET', KEYS[1], 'epoch') or 'none'
if epoch ~= ARGV[1] then return redis.error_reply('EPOCH ' .. epoch) end
redis.call('RPUSH', KEYS[2], ARGV[2])
return redis.call('HINCRBY', KEYS[1], 'out', 1)
