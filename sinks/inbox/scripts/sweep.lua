-- Removes notices that have expired, or those that no inbox holds any more.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 popups    zset    ids of modal notices → score
--      5 … 4+s     zset    inboxes that may hold them
-- ARGV 1 epoch that the caller believes in
--      2 1: remove them from the inboxes (they have expired). 0: remove only bodies that no inbox holds
--      3 b, the number of blocks to forget, then b × block
--      then n, the number of notices, then n × id
--      then for each inbox: m, m × id that it may hold
-- Result: how many bodies went.
-- Error:  EPOCH <what was found, or none>; nothing was changed.

local CHUNK = 1000

local found = redis.call('HGET', KEYS[1], 'epoch')
if found ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (found or 'none'))
end

local at = 3
local b = tonumber(ARGV[at])
local blocks = at + 1
at = blocks + b
local n = tonumber(ARGV[at])
local first = at + 1
at = first + n

local held = {}
for i = 5, #KEYS do
  local m = tonumber(ARGV[at])
  for from = at + 1, at + m, CHUNK do
    local to = math.min(from + CHUNK - 1, at + m)
    if ARGV[2] == '1' then
      redis.call('ZREM', KEYS[i], unpack(ARGV, from, to))
    else
      for j, score in ipairs(redis.call('ZMSCORE', KEYS[i], unpack(ARGV, from, to))) do
        if score then held[ARGV[from + j - 1]] = true end
      end
    end
  end
  at = at + m + 1
end

local gone = 0
for from = first, first + n - 1, CHUNK do
  local ids = {}
  for i = from, math.min(from + CHUNK - 1, first + n - 1) do
    if not held[ARGV[i]] then ids[#ids + 1] = ARGV[i] end
  end
  if #ids > 0 then
    gone = gone + redis.call('HDEL', KEYS[2], unpack(ids))
    redis.call('ZREM', KEYS[4], unpack(ids))
  end
end
for from = blocks, blocks + b - 1, CHUNK do
  redis.call('ZREM', KEYS[3], unpack(ARGV, from, math.min(from + CHUNK - 1, blocks + b - 1)))
end
if gone > 0 and ARGV[2] == '1' then redis.call('HINCRBY', KEYS[1], 'sweeps', 1) end
return gone
