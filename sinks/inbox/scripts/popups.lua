-- Finds modal notices that the reader has not acked, in some inboxes of one warehouse. One call looks through a part of
-- them. Changes nothing. read.lua comes before this text.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 popups    zset    ids of modal notices → score
--      5 … 4+s     zset    the inboxes
--      then, if there is a reader, its keys marks and upto: see read.lua
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 1 if there is a reader, 0 if not
--      4 how many notices at most, 5 how many bytes of bodies at most; one body may be larger
--      6 the score above which to look
--      then s × subscriber, in the order of the keys
-- Result: the score up to which the call has looked, empty = to the end;
--      then (id, score, body, mark) of each notice as in poll.lua, ascending; the body is empty if it is gone.
-- Error:  EPOCH <what was found, or none>; DUE as in poll.lua.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local names, keys, size = {}, {}, 0
for i = 7, #ARGV do
  names[i - 6] = ARGV[i]
  keys[i - 6] = KEYS[i - 2]
  size = size + redis.call('ZCARD', KEYS[i - 2])
end
local expired, failed = expiredBy(KEYS[3], time(ARGV[2]))
if not expired then return failed end
local state = nil
if ARGV[3] == '1' then state = readState(KEYS[#KEYS - 1], KEYS[#KEYS], names, keys) end

-- Look through the modal notices of the warehouse, or through the inboxes if these have fewer notices.
local walk = redis.call('ZCARD', KEYS[4]) > size
local sources, room = {KEYS[4]}, math.min(1000, math.max(50, math.floor(LOOKUPS / #keys)))
if walk then sources, room = keys, math.min(1000, math.max(10, math.floor(LOOKUPS / #keys / #keys))) end
local upTo, ids, scores = '', {}, {}
for _, key in ipairs(sources) do
  local list = redis.call('ZRANGEBYSCORE', key, '(' .. ARGV[6], head[2], 'WITHSCORES', 'LIMIT', 0, room)
  for j = 1, #list, 2 do
    if not scores[list[j]] and not expired[list[j]] then
      ids[#ids + 1] = list[j]
      scores[list[j]] = number(list[j + 1])
    end
  end
  if #list == 2 * room and (upTo == '' or number(list[#list]) < number(upTo)) then upTo = text(number(list[#list])) end
end
table.sort(ids, function(a, b) return scores[a] < scores[b] end)
if upTo ~= '' then
  for n = #ids, 1, -1 do
    if scores[ids[n]] <= number(upTo) then break end
    ids[n] = nil
  end
end

-- Keep the notices that the inboxes hold, that are modal, and that the reader has not acked.
local holders = held(keys, ids)
local isModal, read, acked = {}, {}, {}
if walk then isModal = select(2, held({KEYS[4]}, ids)) end
if state then read, acked = marked(state, ids) end
local open, place = {}, {}
for i, id in ipairs(ids) do
  if next(holders[i]) and (not walk or isModal[i]) and not acked[i] then
    if #open == tonumber(ARGV[4]) then
      upTo = text(scores[open[#open]])
      break
    end
    open[#open + 1] = id
    place[#open] = i
  end
end

local reply = {upTo}
if #open > 0 then
  local bodies, some = bodiesOf(KEYS[2], open, tonumber(ARGV[5]))
  if some < #open then reply[1] = text(scores[open[some]]) end
  for n = 1, some do
    local id, i = open[n], place[n]
    reply[#reply + 1] = id
    reply[#reply + 1] = text(scores[id])
    reply[#reply + 1] = bodies[n]
    reply[#reply + 1] = state and earliest(state, read[i], holders[i], scores[id]) and 1 or 0
  end
end
return reply
