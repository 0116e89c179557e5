-- Says which of some items a line does not have, and how far its outbox goes at this moment.
--
-- KEYS 1 meta      hash  epoch, out
--      2 items     hash  id → value
-- ARGV 1 epoch
--      then ids
-- Result: out, then the places of those that are not there, the first is 1
-- Error:  EPOCH <what was found, or none>

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'out')
local epoch = meta[1] or 'none'
if epoch ~= ARGV[1] then return redis.error_reply('EPOCH ' .. epoch) end
local answer = {tonumber(meta[2]) or 0}
for i = 2, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then answer[#answer + 1] = i - 1 end
end
return answer
