-- Begins to undo an open wide delivery: the node that delivers it stops. sweep.lua does the rest.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open
-- ARGV 1 the epoch that the caller assumes
--      2 the value of open that the caller found
-- Result: the new value of open; empty if another delivery is open, or none.
-- Error:  EPOCH <what was found, or none>; nothing was changed.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'open')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
if head[2] ~= ARGV[2] then return '' end
local open = string.match(ARGV[2], '^%d+ %S+') .. ' undo'
redis.call('HSET', KEYS[1], 'open', open)
return open
