-- Finds what has expired, for sweep.lua to remove. Changes nothing.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids separated by spaces → when they expire, µs
-- ARGV 1 epoch that the caller believes in
--      2 now, µs; 0 = the server's TIME
--      3 how many ids at most; one block is always answered whole
-- Result: for each block that is due: the block, then the body of each of its ids (empty where it is gone).
-- Error:  EPOCH <what was found, or none>

local found = redis.call('HGET', KEYS[1], 'epoch')
if found ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (found or 'none'))
end
local now = time(ARGV[2])

local reply, taken, most = {}, 0, tonumber(ARGV[3])
for _, block in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now), 'LIMIT', 0, most)) do
  local ids = {}
  for id in string.gmatch(block, '%S+') do ids[#ids + 1] = id end
  if taken > 0 and taken + #ids > most then break end
  taken = taken + #ids
  reply[#reply + 1] = block
  for _, body in ipairs(redis.call('HMGET', KEYS[2], unpack(ids))) do
    reply[#reply + 1] = body or ''
  end
end
return reply
