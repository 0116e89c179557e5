-- Finds the modal notices in some inboxes of one warehouse that the reader has not acked. Changes nothing. It follows read.lua.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 popups    zset    ids of modal notices → score
--      4 … 3+s     zset    the inboxes
--      then, if there is a reader, its marks and its upto: see read.lua
-- ARGV 1 epoch that the caller believes in
--      2 1 if there is a reader, 0 if not
--      3 how many at most
--      then s × subscriber, in the order of the keys
-- Result: (id, score, body, what became of it) of each, as poll.lua has it, ascending; the body is empty where it is gone.
-- Error:  EPOCH <what was found, or none>

local found = redis.call('HGET', KEYS[1], 'epoch')
if found ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (found or 'none'))
end
local names, keys = {}, {}
for i = 4, #ARGV do
  names[i - 3] = ARGV[i]
  keys[i - 3] = KEYS[i]
end
local state = nil
if ARGV[2] == '1' then state = readState(KEYS[#KEYS - 1], KEYS[#KEYS], names, keys) end

local ids, scores = {}, {}
for _, key in ipairs(keys) do
  local list = redis.call('ZINTER', 2, KEYS[3], key, 'AGGREGATE', 'MIN', 'WITHSCORES')
  for j = 1, #list, 2 do
    if not scores[list[j]] then
      ids[#ids + 1] = list[j]
      scores[list[j]] = number(list[j + 1])
    end
  end
end
table.sort(ids, function(a, b) return scores[a] < scores[b] end)

local open, read, acked = {}, {}, {}
if state then read, acked = marked(state, ids) end
for i, id in ipairs(ids) do
  if not acked[i] and #open < tonumber(ARGV[3]) then open[#open + 1] = id end
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
