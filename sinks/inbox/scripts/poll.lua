-- Reads some inboxes of one warehouse and its clock at one moment. Changes nothing.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      5 … 4+s     zset    the inboxes to read
-- ARGV 1 epoch that the caller believes in
--      2 now, µs; 0 = the server's TIME
--      3 mode: after (a score), scan (the same, whatever was removed), since (a time), window (the latest span)
--      4 the score after which, or the time since which, µs
--      5 the span of a window, µs
--      6 how many notices at most
--      7 the clock and sweeps, joined by a dot, for which the caller knows the count
--      8 how far a count goes
--      then s × (subscriber, the score up to which the caller knows that its notices were removed), in the order of the keys
-- Result: clock, sweeps, now, 1 if a window was read instead because something above the score was removed,
--      1 if more follow, the count of notices that have not expired or -1 where the caller knows it,
--      then for each inbox the highest score that the cap removed from it,
--      then (id, score, body) of each notice, ascending; the body is empty where it is gone.
-- Error:  EPOCH <what was found, or none>; CLOCK <clock> if the score lies ahead of it.

-- A score as a number. Redis may write it as 2e+15, which tonumber does not read everywhere; arithmetic does.
local function number(score) return score + 0 end

local function text(score) return string.format('%.0f', score) end

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock', 'sweeps')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local now = tonumber(ARGV[2])
if now == 0 then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end
local inboxes = #KEYS - 4

local names = {}
for i = 1, inboxes do names[i] = ARGV[7 + 2 * i] end
local removed = redis.call('ZMSCORE', KEYS[4], unpack(names))
for i = 1, inboxes do removed[i] = removed[i] and number(removed[i]) or 0 end

-- Where to begin.
local mode, from, reset = ARGV[3], tonumber(ARGV[4]), 0
if mode == 'after' then
  if from > tonumber(head[2]) then
    return redis.error_reply('CLOCK ' .. head[2])
  end
  for i = 1, inboxes do
    if removed[i] > math.max(from, tonumber(ARGV[8 + 2 * i])) then
      mode, reset = 'window', 1
    end
  end
end
if mode == 'window' then from = now - tonumber(ARGV[5]) end
local min = text(from)
if mode == 'after' or mode == 'scan' then min = '(' .. min end

-- One more than asked for from each inbox, so that it shows whether more follow.
local limit = tonumber(ARGV[6])
local ids, scores = {}, {}
for i = 1, inboxes do
  local found = redis.call('ZRANGEBYSCORE', KEYS[4 + i], min, '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
  for j = 1, #found, 2 do
    local id = found[j]
    if not scores[id] then
      ids[#ids + 1] = id
      scores[id] = number(found[j + 1])
    end
  end
end
if inboxes > 1 then
  table.sort(ids, function(a, b) return scores[a] < scores[b] end)
end
local more = 0
if #ids > limit then
  more = 1
  for i = #ids, limit + 1, -1 do ids[i] = nil end
end

-- How many there are, each once, without those that expired since the last sweep.
local count = -1
local due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now), 'LIMIT', 0, 100)
if #due > 0 or ARGV[7] ~= head[2] .. '.' .. head[3] then
  local expired, any = {}, 0
  for _, block in ipairs(due) do
    for id in string.gmatch(block, '%S+') do
      expired[id] = true
      any = any + 1
    end
  end
  local most = tonumber(ARGV[8])
  if inboxes == 1 and any == 0 then
    count = math.min(redis.call('ZCARD', KEYS[5]), most)
  else
    count = 0
    local seen = expired
    for i = 1, inboxes do
      if count < most then
        for _, id in ipairs(redis.call('ZREVRANGE', KEYS[4 + i], 0, most + any - 1)) do
          if not seen[id] then
            seen[id] = true
            count = count + 1
          end
        end
      end
    end
    count = math.min(count, most)
  end
end

local reply = {head[2], head[3], text(now), reset, more, count}
for i = 1, inboxes do reply[#reply + 1] = text(removed[i]) end
if #ids > 0 then
  local bodies = redis.call('HMGET', KEYS[2], unpack(ids))
  for i, id in ipairs(ids) do
    reply[#reply + 1] = id
    reply[#reply + 1] = text(scores[id])
    reply[#reply + 1] = bodies[i] or ''
  end
end
return reply
