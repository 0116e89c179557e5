-- Says which of some items are not in the queue at this moment. It changes nothing: see repair.lua for what is to be done then.
--
-- KEYS 1 meta      hash  epoch
--      2 items     hash  id → value
-- ARGV 1 epoch
--      then ids
-- Result: the places of those that are not there; the first is 1.
-- Error:  EPOCH <what was found, or none>

local epoch = redis.call('HGET', KEYS[1], 'epoch') or 'none'
if epoch ~= ARGV[1] then return redis.error_reply('EPOCH ' .. epoch) end
local absent = {}
for i = 2, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then absent[#absent + 1] = i - 1 end
end
return absent
