-- Returns which of some items are not in the queue at this moment. Changes nothing. repair.lua says how such items are
-- put back.
--
-- KEYS 1 meta      hash  epoch
--      2 items     hash  id → value
-- ARGV 1 epoch
--      then ids
-- Result: the places of the missing items; the first place is 1.
-- Error:  EPOCH <what was found, or none>

local epoch = redis.call('HGET', KEYS[1], 'epoch') or 'none'
if epoch ~= ARGV[1] then return redis.error_reply('EPOCH ' .. epoch) end
local absent = {}
for i = 2, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then absent[#absent + 1] = i - 1 end
end
return absent
