-- Finds the modal notices in some inboxes of one warehouse that the reader has not acked. Changes nothing. It follows read.lua.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 popups    zset    ids of modal notices → score
--      5 … 4+s     zset    the inboxes
--      then, if there is a reader, its marks and its upto: see read.lua
-- ARGV 1 epoch that the caller believes in
--      2 now, µs; 0 = the server's TIME
--      3 1 if there is a reader, 0 if not
--      4 how many at most
--      then s × subscriber, in the order of the keys
-- Result: (id, score, body, what became of it) of each, as poll.lua has it, ascending; the body is empty where it is gone.
-- Error:  EPOCH <what was found, or none>; DUE as poll.lua has it.

local found = redis.call('HGET', KEYS[1], 'epoch')
if found ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (found or 'none'))
end
local now = time(ARGV[2])
local names, keys = {}, {}
for i = 5, #ARGV do
  names[i - 4] = ARGV[i]
  keys[i - 4] = KEYS[i]
end
local due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now), 'LIMIT', 0, MOST_DUE + 1)
if #due > MOST_DUE then return redis.error_reply('DUE ' .. #due) end
local expired = {}
for _, block in ipairs(due) do
  for id in string.gmatch(block, '%S+') do expired[id] = true end
end
local state = nil
if ARGV[3] == '1' then state = readState(KEYS[#KEYS - 1], KEYS[#KEYS], names, keys) end

local ids, scores = {}, {}
for _, key in ipairs(keys) do
  local list = redis.call('ZINTER', 2, KEYS[4], key, 'AGGREGATE', 'MIN', 'WITHSCORES')
  for j = 1, #list, 2 do
    if not scores[list[j]] and not expired[list[j]] then
      ids[#ids + 1] = list[j]
      scores[list[j]] = number(list[j + 1])
    end
  end
end
table.sort(ids, function(a, b) return scores[a] < scores[b] end)

local open, read, acked = {}, {}, {}
if state then read, acked = marked(state, ids) end
for i, id in ipairs(ids) do
  if not acked[i] and #open < tonumber(ARGV[4]) then open[#open + 1] = id end
end
local reply = {}
if #open > 0 then
  local bodies = redis.call('HMGET', KEYS[2], unpack(open))
  local holders = {}
  if state then
    holders = held(keys, open)
    read = marked(state, open)
  end
  for i, id in ipairs(open) do
    reply[#reply + 1] = id
    reply[#reply + 1] = text(scores[id])
    reply[#reply + 1] = bodies[i] or ''
    reply[#reply + 1] = state and earliest(state, read[i], holders[i], scores[id]) and 1 or 0
  end
end
return reply
