-- Reads some inboxes of one warehouse and its clock at one moment. Changes nothing. It follows read.lua.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      5 … 4+s     zset    the inboxes to read
--      then, if there is a reader, its marks and its upto: see read.lua
-- ARGV 1 epoch that the caller believes in
--      2 now, µs; 0 = the server's TIME
--      3 mode: after (a score), scan (the same, whatever was removed), since (a time), window (the latest span), latest (the newest)
--      4 the score after which, or the time since which, µs
--      5 the span of a window, µs
--      6 how many notices at most
--      7 the clock and 8 sweeps for which the caller knows the count; 0 = it does not
--      9 how far a count goes
--      10 1 if there is a reader, 0 if not
--      11 the clock after which the reader wants changes, 0 = it wants none
--      12 how many marks to tell of at most; where read-alls cover more than ten times as many, none is told, and mode after becomes
--      a window
--      13 the clock at which notices are to be shown as read; 0 = now
--      then s × (subscriber, the score up to which the caller knows that its notices were removed), in the order of the keys
-- Result: clock, sweeps, now, 1 if a window was read instead because something above the score was removed or forgotten, or too much was read,
--      1 if more follow, the count of notices that are not read and have not expired or -1 where the caller knows it,
--      the clock up to which changes are told, the number of changes,
--      then for each inbox the highest score that the cap removed from it,
--      then (id, kind, clock) of each change in that order: read or acked,
--      then (id, score, body, what became of it) of each notice, ascending; the body is empty where it is gone. What became of
--      it: 0 nothing, 1 read, 2 acked. There are no notices while changes are left.
-- Error:  EPOCH <what was found, or none>; CLOCK <clock> if the score lies ahead of it; DUE <blocks> if more has expired than a
--      count looks through: it is to be swept first.

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
  names[i] = ARGV[12 + 2 * i]
  keys[i] = KEYS[4 + i]
end
local removed = redis.call('ZMSCORE', KEYS[4], unpack(names))
for i = 1, inboxes do removed[i] = removed[i] and number(removed[i]) or 0 end
local state = nil
if withReader then state = readState(KEYS[5 + inboxes], KEYS[6 + inboxes], names, keys) end

-- Where to begin.
local mode, from, after, reset = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[11]), 0
if mode == 'after' then
  if math.max(from, after) > clock then
    return redis.error_reply('CLOCK ' .. head[2])
  end
  for i = 1, inboxes do
    if removed[i] > math.max(from, tonumber(ARGV[13 + 2 * i])) then
      mode, reset = 'window', 1
    end
  end
  if state and after > 0 and after < state.forgotten then
    mode, reset = 'window', 1
  end
end
if state and after > 0 and (mode == 'after' or mode == 'since') then
  local _, _, many = covered(state, after, clock, from)
  if many > 10 * tonumber(ARGV[12]) then
    if mode == 'since' then
      after = 0
    else
      mode, reset = 'window', 1
    end
  end
end
if mode == 'window' then from = now - tonumber(ARGV[5]) end
if mode == 'since' then from = from - 1 end
local min = text(from)
if mode ~= 'window' and mode ~= 'latest' then min = '(' .. min end

-- What became of the notices that the reader has already.
local changes, told, limit = {}, clock, tonumber(ARGV[6])
if state and after > 0 and (mode == 'after' or mode == 'since') then
  changes, told = between(state, after, clock, tonumber(ARGV[12]), from)
end

-- What expired since the last sweep.
local due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now), 'LIMIT', 0, MOST_DUE + 1)
if #due > MOST_DUE then return redis.error_reply('DUE ' .. #due) end
local expired, anyExpired = {}, 0
for _, block in ipairs(due) do
  for id in string.gmatch(block, '%S+') do
    expired[id] = true
    anyExpired = anyExpired + 1
  end
end

-- One more than asked for from each inbox, so that it shows whether more follow.
local ids, scores, holders, more = {}, {}, {}, 0
if told < clock then
  more = 1
else
  for i = 1, inboxes do
    local found
    if mode == 'latest' then
      found = redis.call('ZREVRANGEBYSCORE', keys[i], '+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, limit + anyExpired)
    else
      found = redis.call('ZRANGEBYSCORE', keys[i], min, '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
    end
    for j = 1, #found, 2 do
      local id = found[j]
      if not scores[id] and not (mode == 'latest' and expired[id]) then
        ids[#ids + 1] = id
        scores[id] = number(found[j + 1])
        holders[id] = {}
      end
      if scores[id] then holders[id][i] = true end
    end
  end
  if inboxes > 1 or mode == 'latest' then
    table.sort(ids, function(a, b) return scores[a] < scores[b] end)
  end
  if mode == 'latest' then
    while #ids > limit do table.remove(ids, 1) end
  elseif #ids > limit then
    more = 1
    for i = #ids, limit + 1, -1 do ids[i] = nil end
  end
end

-- moved tells whether the count may be another one than the caller knows.
local function moved()
  if anyExpired > 0 or ARGV[7] == '0' or ARGV[8] ~= head[3] then return true end
  if ARGV[7] == head[2] then return false end
  for i = 5, #KEYS do
    if redis.call('ZCOUNT', KEYS[i], '(' .. ARGV[7], '+inf') > 0 then return true end
  end
  return false
end

-- countOne counts in one inbox, of which nothing has expired: what is above its watermark less what is marked of that.
local function countOne(most)
  local above = watermark(state, 1, clock)
  local n = redis.call('ZCOUNT', keys[1], '(' .. text(above), '+inf')
  if n == 0 or not (state and state.some) or n - redis.call('ZCARD', state.marks) >= most then return math.min(n, most) end
  local members = redis.call('ZRANGE', state.marks, 0, -1)
  for first = 1, #members, CHUNK do
    local some = {}
    for i = first, math.min(first + CHUNK - 1, #members) do
      if string.sub(members[i], 1, 1) == 'r' then some[#some + 1] = string.sub(members[i], 3) end
    end
    if #some > 0 then
      for _, score in ipairs(redis.call('ZMSCORE', keys[1], unpack(some))) do
        if score and number(score) > above then n = n - 1 end
      end
    end
  end
  return math.min(n, most)
end

-- countSeveral counts each notice once, newest first, until it has counted enough.
local function countSeveral(most)
  local count, seen, highest, above = 0, {}, 0, {}
  for id in pairs(expired) do seen[id] = true end
  for i = 1, inboxes do
    above[i] = watermark(state, i, clock)
    highest = math.max(highest, above[i])
  end
  for i = 1, inboxes do
    local offset, list = 0, {}
    while count < most and #list == (offset == 0 and 0 or 2 * CHUNK) do
      list = redis.call('ZREVRANGEBYSCORE', keys[i], '+inf', '(' .. text(above[i]), 'WITHSCORES', 'LIMIT', offset, CHUNK)
      local fresh, at = {}, {}
      for j = 1, #list, 2 do
        if not seen[list[j]] then
          seen[list[j]] = true
          fresh[#fresh + 1] = list[j]
          at[#at + 1] = number(list[j + 1])
        end
      end
      local read = state and marked(state, fresh) or {}
      for j = 1, #fresh do
        local isRead = read[j]
        for k = 1, inboxes do
          if not isRead and at[j] <= highest and above[k] >= at[j] then
            isRead = redis.call('ZSCORE', keys[k], fresh[j])
          end
        end
        if not isRead then count = count + 1 end
      end
      offset = offset + CHUNK
    end
  end
  return math.min(count, most)
end

local count = -1
if moved() then
  local most = tonumber(ARGV[9])
  if inboxes == 1 and anyExpired == 0 then
    count = countOne(most)
  else
    count = countSeveral(most)
  end
end

local reply = {head[2], head[3], text(now), reset, more, count, text(told), #changes}
for i = 1, inboxes do reply[#reply + 1] = text(removed[i]) end
for _, change in ipairs(changes) do
  reply[#reply + 1] = change[1]
  reply[#reply + 1] = change[2]
  reply[#reply + 1] = text(change[3])
end
if #ids > 0 then
  local bodies = redis.call('HMGET', KEYS[2], unpack(ids))
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
    reply[#reply + 1] = bodies[i] or ''
    reply[#reply + 1] = became
  end
end
return reply
