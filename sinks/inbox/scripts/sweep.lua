-- Removes a part of the expired notices, or of a wide delivery that is undone, or bodies that no inbox holds any more.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open (see open.lua)
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 popups    zset    ids of modal notices → score
--      5 wide      zset    id of a wide notice → how many inboxes hold it
--      6 … 5+t     hash    the recipients (to) of wide notices: number of a portion → its subscribers
--      6+t …       zset    inboxes that may hold notices
-- ARGV 1 the epoch that the caller assumes
--      2 1: remove notices from the inboxes. 0: remove only bodies that no inbox holds
--      3 the value that open must have; empty = any
--      4 b, the number of blocks to forget, then b × block
--      then t, how many of the bodies to remove are of wide notices
--      then n, the number of bodies to remove, then n × id, the t wide ones first
--      then for each inbox: m, m × id that it may hold
-- Result: how many bodies were removed.
-- Error:  EPOCH <what was found, or none>; LATE: open has another value. Nothing was changed.

local CHUNK = 1000

local head = redis.call('HMGET', KEYS[1], 'epoch', 'open')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
if ARGV[3] ~= '' and head[2] ~= ARGV[3] then return redis.error_reply('LATE') end
local opened = head[2] and string.match(head[2], '^%d+ (%S+)')

local at = 4
local b = tonumber(ARGV[at])
local blocks = at + 1
at = blocks + b
local t, n = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
local first = at + 2
at = first + n

local held = {}
for i = 6 + t, #KEYS do
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
if ARGV[2] ~= '1' then
  for i = first, first + t - 1 do
    local count = redis.call('ZSCORE', KEYS[5], ARGV[i])
    if opened == ARGV[i] or count and tonumber(count) > 0 then held[ARGV[i]] = true end
  end
end

local gone = 0
for from = first, first + n - 1, CHUNK do
  local ids = {}
  for i = from, math.min(from + CHUNK - 1, first + n - 1) do
    if not held[ARGV[i]] then
      ids[#ids + 1] = ARGV[i]
      if i < first + t then redis.call('UNLINK', KEYS[6 + i - first]) end
      if opened == ARGV[i] then redis.call('HDEL', KEYS[1], 'open') end
    end
  end
  if #ids > 0 then
    gone = gone + redis.call('HDEL', KEYS[2], unpack(ids))
    redis.call('ZREM', KEYS[4], unpack(ids))
    redis.call('ZREM', KEYS[5], unpack(ids))
  end
end
for from = blocks, blocks + b - 1, CHUNK do
  redis.call('ZREM', KEYS[3], unpack(ARGV, from, math.min(from + CHUNK - 1, blocks + b - 1)))
end
if gone > 0 and ARGV[2] == '1' then redis.call('HINCRBY', KEYS[1], 'sweeps', 1) end
return gone
