-- Begins to take back a wide delivery that is open: whoever delivers it stops. sweep.lua does the rest.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open
-- ARGV 1 epoch that the caller believes in
--      2 open, as it was found
-- Result: open as it stands now, empty where another one or none is open.
-- Error:  EPOCH <what was found, or none>; nothing was changed.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'open')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
if head[2] ~= ARGV[2] then return '' end
local open = string.match(ARGV[2], '^%d+ %S+') .. ' undo'
redis.call('HSET', KEYS[1], 'open', open)
return open
