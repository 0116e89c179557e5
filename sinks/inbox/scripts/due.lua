-- Finds expired notices, for sweep.lua to remove. Changes nothing.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids separated by spaces → when they expire, µs
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 how many ids at most, 4 how many bytes of bodies at most; one body may be larger
-- Result: for each block that is due: the block, 1 if the rest of the block is complete in this answer, k, then k ×
--         (id, body). Ids without a body are left out.
-- Error:  EPOCH <what was found, or none>

local PART = 20

local found = redis.call('HGET', KEYS[1], 'epoch')
if found ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (found or 'none'))
end
local now = time(ARGV[2])

local reply, ids, bytes, most, mostBytes = {}, 0, 0, tonumber(ARGV[3]), tonumber(ARGV[4])
local function full() return ids >= most or bytes >= mostBytes end

-- add adds some ids of a block to the answer, while there is room. It returns whether all were added.
local function add(some)
  for i, body in ipairs(redis.call('HMGET', KEYS[2], unpack(some))) do
    if body then
      if full() then return false end
      reply[#reply + 1] = some[i]
      reply[#reply + 1] = body
      ids, bytes = ids + 1, bytes + #body
    end
  end
  return true
end

for _, block in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now), 'LIMIT', 0, most)) do
  if full() then break end
  reply[#reply + 1] = block
  local head = #reply
  reply[head + 1], reply[head + 2] = '1', '0'
  local some, all = {}, true
  for id in string.gmatch(block, '%S+') do
    some[#some + 1] = id
    if #some == PART then
      all = add(some)
      some = {}
      if not all then break end
    end
  end
  if all and #some > 0 then all = add(some) end
  reply[head + 1] = all and '1' or '0'
  reply[head + 2] = tostring((#reply - head - 2) / 2)
  if not all then break end
end
return reply
