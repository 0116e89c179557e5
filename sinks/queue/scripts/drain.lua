-- Gives one node at a time the moves in the outbox, in order, and removes the entries that the ledger has.
--
-- KEYS 1 meta      hash  epoch, out, drained, drainer, drain_until
--      2 outbox    list  entries that the ledger does not have yet: positions drained + 1 to out
-- ARGV 1 epoch
--      2 process
--      3 how long no other process may drain, µs; 0 gives up the right to drain; below 0 the call only reads and needs
--        no right
--      4 the position up to which everything is in the ledger
--      5 the position behind which to read
--      6 how many entries at most; 0 = none
--      7 how many bytes, about
-- Result: {1, out, position of the first entry, entries…} if the process drains or reads,
--         {0, out, for how long another process has the right, µs} if not.
-- Error:  EPOCH <what was found, or none>

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'out', 'drained', 'drainer', 'drain_until')
local epoch = meta[1] or 'none'
if epoch ~= ARGV[1] then return redis.error_reply('EPOCH ' .. epoch) end
local out, drained = tonumber(meta[2]) or 0, tonumber(meta[3]) or 0

local hold = tonumber(ARGV[3])
if hold >= 0 then
  local t = redis.call('TIME')
  local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
  local to = tonumber(meta[5]) or 0
  if meta[4] and meta[4] ~= ARGV[2] and to > now then return {0, out, to - now} end
  -- When its memory is full, Redis refuses a script whose first write can need memory. HDEL needs no memory. Draining
  -- makes room, and the moves must not stay in Redis alone.
  redis.call('HDEL', KEYS[1], '-')
  redis.call('HSET', KEYS[1], 'drainer', ARGV[2], 'drain_until', string.format('%.0f', now + hold))
end

local applied = math.min(tonumber(ARGV[4]), out)
if applied > drained then
  redis.call('LTRIM', KEYS[2], applied - drained, -1)
  redis.call('HSET', KEYS[1], 'drained', string.format('%.0f', applied))
  drained = applied
end

local after = math.max(tonumber(ARGV[5]), drained)
local left, room = tonumber(ARGV[6]), tonumber(ARGV[7])
local answer = {1, out, after + 1}
local at = after - drained
while left > 0 and room > 0 do
  local some = redis.call('LRANGE', KEYS[2], at, at + math.min(left, 100) - 1)
  if #some == 0 then break end
  for _, entry in ipairs(some) do
    answer[#answer + 1] = entry
    room = room - #entry
  end
  at, left = at + #some, left - #some
end
return answer
