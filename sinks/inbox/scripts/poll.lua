-- Reads some inboxes of one warehouse and its clock at one moment. Changes nothing. read.lua and count.lua come before
-- this text.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      5 … 4+s     zset    the inboxes to read
--      then, if there is a reader, its keys marks and upto: see read.lua
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 mode: after (a score), scan (the same, but removed notices do not matter), since (a time), window (the latest
--        span), latest (the newest)
--      4 for after and scan: the score after which to read; for since: the first time to read, µs
--      5 the span of a window, µs
--      6 how many notices at most
--      7 the clock and 8 sweeps for which the caller knows the count; 0 = the caller does not know it
--      9 how far a count goes
--      10 1 if there is a reader, 0 if not
--      11 the clock after which the reader wants changes, 0 = none
--      12 how many marks to return at most. If read-alls cover more than ten times as many notices, or too much would
--        have to be looked up, no changes are returned, and mode after becomes a window
--      13 the clock at which notices are shown as read; 0 = now
--      14 how many bytes of bodies at most; one body may be larger
--      then s × (subscriber, the score up to which the caller knows that its notices were removed), in the order of the
--        keys
-- Result: clock, sweeps, now; why a window was read instead of mode after: 0 = the mode stayed as it was, 1 = notices
--        above the score were removed, 2 = read-alls after the clock are forgotten, 3 = too much was read;
--      1 if more notices follow, 2 if the page ended because of its bytes; the count of unread notices that have not
--        expired, or -1 if the caller's count is still right, or -2 - k if k were found and unread.lua must continue;
--      the inbox and the score where unread.lua continues, the clock up to which changes are complete, the number of
--        changes;
--      then for each inbox the highest score that the cap removed from it;
--      then (id, kind, clock) of each change, in the order of the clock: read or acked;
--      then (id, score, body, mark) of each notice, ascending, in mode latest descending. The body is empty if it is
--        gone. The mark is 0 = none, 1 = read, 2 = acked. There are no notices while changes are left.
-- Error:  EPOCH <what was found, or none>; CLOCK <clock> if the score is ahead of the clock; DUE <ids> if more notices
--        have expired than one call looks through: they must be swept first.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock', 'sweeps')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local now, clock = time(ARGV[2]), number(head[2])
local withReader = ARGV[10] == '1'
local inboxes = #KEYS - 4
if withReader then inboxes = inboxes - 2 end

local names, keys = {}, {}
for i = 1, inboxes do
  names[i] = ARGV[13 + 2 * i]
  keys[i] = KEYS[4 + i]
end
local removed = redis.call('ZMSCORE', KEYS[4], unpack(names))
for i = 1, inboxes do removed[i] = removed[i] and number(removed[i]) or 0 end
local state = nil
if withReader then state = readState(KEYS[5 + inboxes], KEYS[6 + inboxes], names, keys) end

-- Where does the page begin?
local mode, from, after, reset = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[11]), 0
if mode == 'after' then
  if math.max(from, after) > clock then
    return redis.error_reply('CLOCK ' .. head[2])
  end
  for i = 1, inboxes do
    if removed[i] > math.max(from, tonumber(ARGV[14 + 2 * i])) then
      mode, reset = 'window', 1
    end
  end
  if reset == 0 and state and after > 0 and after < state.forgotten then
    mode, reset = 'window', 2
  end
end
if mode == 'since' then from = from - 1 end

-- The changes of notices that the reader has already.
local changes, told, limit = {}, clock, tonumber(ARGV[6])
if state and after > 0 and (mode == 'after' or mode == 'since') then
  local _, _, many = covered(state, after, clock, from)
  local list, upTo = nil, clock
  if many <= 10 * tonumber(ARGV[12]) then list, upTo = between(state, after, clock, tonumber(ARGV[12]), from) end
  if list then
    changes, told = list, upTo
  elseif mode == 'after' then
    mode, reset = 'window', 3
  end
end
if mode == 'window' then from = now - tonumber(ARGV[5]) end
local min = text(from)
if mode ~= 'window' and mode ~= 'latest' then min = '(' .. min end

-- Notices that have expired since the last sweep.
local expired, anyExpired = expiredBy(KEYS[3], now)
if not expired then return anyExpired end

-- The notices of the page, and one more, which shows whether more follow. With many inboxes only a part of each is read
-- at a time. The result is complete up to the lowest score at which one of these parts ends.
local ids, scores, holders, more = {}, {}, {}, 0

local function take(list, inbox)
  for j = 1, #list, 2 do
    local id = list[j]
    if not scores[id] then
      ids[#ids + 1] = id
      scores[id] = number(list[j + 1])
      holders[id] = {}
    end
    holders[id][inbox] = true
  end
end

-- newest returns the last notices of an inbox that have not expired, at most as many as fit on the page.
local function newest(key)
  local list, offset, part = {}, 0, limit + 20
  repeat
    local found = redis.call('ZREVRANGEBYSCORE', key, head[2], '-inf', 'WITHSCORES', 'LIMIT', offset, part)
    for j = 1, #found, 2 do
      if not expired[found[j]] and #list < 2 * limit then
        list[#list + 1] = found[j]
        list[#list + 1] = found[j + 1]
      end
    end
    offset = offset + part
  until #list == 2 * limit or #found < 2 * part
  return list
end

local function ascending(a, b) return scores[a] < scores[b] end

if told < clock then
  more = 1
elseif mode == 'latest' then
  for i = 1, inboxes do take(newest(keys[i]), i) end
  table.sort(ids, function(a, b) return ascending(b, a) end)
else
  local part = limit + 1
  if inboxes > 8 then part = math.max(20, math.ceil(2 * part / inboxes)) end
  local lowest
  repeat
    lowest = nil
    for i = 1, inboxes do
      local found = redis.call('ZRANGEBYSCORE', keys[i], min, head[2], 'WITHSCORES', 'LIMIT', 0, part)
      take(found, i)
      if #found == 2 * part then
        local last = number(found[#found])
        if not lowest or last < lowest then lowest = last end
      end
    end
    if inboxes > 1 then table.sort(ids, ascending) end
    if lowest then
      for n = #ids, 1, -1 do
        if scores[ids[n]] <= lowest then break end
        scores[ids[n]], ids[n] = nil, nil
      end
      min = '(' .. text(lowest)
    end
  until not lowest or #ids > limit
end
if #ids > limit then
  more = 1
  for i = #ids, limit + 1, -1 do ids[i] = nil end
end

-- moved tells whether the count may differ from the caller's.
local function moved()
  if anyExpired > 0 or ARGV[7] == '0' or ARGV[8] ~= head[3] then return true end
  if ARGV[7] == head[2] then return false end
  for i = 5, #KEYS do
    if redis.call('ZCOUNT', KEYS[i], '(' .. ARGV[7], head[2]) > 0 then return true end
  end
  return false
end

local count, countInbox, countBelow = -1, 0, 0
if moved() then
  local most = tonumber(ARGV[9])
  if inboxes == 1 and anyExpired == 0 then count = countOne(state, keys[1], clock, most) end
  if count < 0 then
    local found
    found, countInbox, countBelow = countSome(state, keys, clock, expired, 0, 0, most)
    count = countInbox > 0 and -2 - found or found
  end
end

-- Read the bodies, until they have too many bytes.
local bodies = {}
if #ids > 0 then
  local read
  bodies, read = bodiesOf(KEYS[2], ids, tonumber(ARGV[14]))
  if read < #ids then
    more = 2
    for i = #ids, read + 1, -1 do ids[i] = nil end
  end
end

local reply = {head[2], head[3], text(now), reset, more, count, countInbox, text(countBelow), text(told), #changes}
for i = 1, inboxes do reply[#reply + 1] = text(removed[i]) end
for _, change in ipairs(changes) do
  reply[#reply + 1] = change[1]
  reply[#reply + 1] = change[2]
  reply[#reply + 1] = text(change[3])
end
if #ids > 0 then
  local read, acked = {}, {}
  if state then read, acked = marked(state, ids) end
  local at = tonumber(ARGV[13])
  if at == 0 then at = clock end
  for i, id in ipairs(ids) do
    local became = 0
    if state then
      local first = earliest(state, read[i], holders[id], scores[id])
      if first and first <= at then became = 1 end
      if acked[i] and acked[i] <= at then became = 2 end
    end
    reply[#reply + 1] = id
    reply[#reply + 1] = text(scores[id])
    reply[#reply + 1] = bodies[i]
    reply[#reply + 1] = became
  end
end
return reply
