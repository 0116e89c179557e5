-- Puts a batch of notices into the inboxes of one warehouse. Does everything or nothing, and is idempotent by id.
-- cap.lua comes before this text.
--
-- KEYS 1 clock     hash    epoch, clock (the highest score given), sweeps, open (see open.lua), last (see common.lua)
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids separated by spaces → when they expire, µs
--      4 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      5 popups    zset    ids of modal notices → score
--      6 wide      zset    id of a wide notice → how many inboxes hold it
--      7 … 6+s     zset    the inbox of each subscriber: id → score
--      then s      list    the log of each inbox: the last scores that the cap removed
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 cap: how many notices an inbox keeps
--      4 channel for the hint, 5 its message; a line with the old and the new clock is added to it. No hint if the
--        channel is empty
--      6 the origin of the newest delivery of the batch; see common.lua
--      7 n, the number of notices
--      then n × (id, body)
--      then n × expiry, µs
--      then n × score; 0 = give one, else the notice is written back with this score
--      then p, the number of modal notices, then the number (1 …) of each
--      then s × subscriber, in the order of the keys
--      then the lists. All inboxes of one list get the same notices. A list is: s', how many inboxes; their numbers (1 …); m, how many notices; their numbers (1 …). m = 0 means all notices
-- Result: n scores as text, then the ids of notices that the cap has removed, and that may be in no inbox any more.
-- Error:  EPOCH <what was found, or none>; OPEN <the open wide delivery>, which must be undone first. Nothing was
--         changed.

-- How many arguments one command gets: unpack needs room on Lua's stack.
local CHUNK = 1000

-- call runs a command on a key with any number of arguments.
local function call(command, key, args, first, last)
  for i = first, last, CHUNK do
    redis.call(command, key, unpack(args, i, math.min(i + CHUNK - 1, last)))
  end
end

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock', 'open', 'last')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end

local now = time(ARGV[2])
local cap, n = tonumber(ARGV[3]), tonumber(ARGV[7])
local subscribers = (#KEYS - 6) / 2
local bodies, expiries, given = 8, 8 + 2 * n, 8 + 3 * n
local popups = given + n
local names = popups + 1 + tonumber(ARGV[popups])
local lists = names + subscribers

-- Which notices does Redis have already?
local ids, known, anyKnown = {}, {}, false
for i = 1, n do ids[i] = ARGV[bodies + 2 * (i - 1)] end
for i = 1, n, CHUNK do
  local found = redis.call('HMGET', KEYS[2], unpack(ids, i, math.min(i + CHUNK - 1, n)))
  for j = 1, #found do
    if found[j] then
      known[i + j - 1] = true
      anyKnown = true
    end
  end
end

-- each calls visit(inbox key, number of the notice) for every pair in the lists.
local function each(visit)
  local at = lists
  while at <= #ARGV do
    local s = tonumber(ARGV[at])
    local m = tonumber(ARGV[at + s + 1])
    for i = 1, s do
      local key = KEYS[6 + tonumber(ARGV[at + i])]
      for j = 1, m == 0 and n or m do
        visit(key, m == 0 and j or tonumber(ARGV[at + s + 1 + j]))
      end
    end
    at = at + s + 2 + m
  end
end

-- Known notices keep their scores. A notice that the cap has removed from every inbox counts as new.
local scores, fresh = {}, n
if anyKnown then
  each(function(key, i)
    if known[i] and not scores[i] then
      local score = redis.call('ZSCORE', key, ids[i])
      if score then
        scores[i] = text(number(score))
        fresh = fresh - 1
      end
    end
  end)
end

if fresh > 0 and head[3] then return openError(head[3]) end

-- New notices get scores in the order of the batch.
local clock = tonumber(head[2])
local old = {}
for i = 1, n do
  if scores[i] then
    old[i] = true
  else
    local score = tonumber(ARGV[given + i - 1])
    if score == 0 then score = math.max(clock + 1, now) end
    clock = math.max(clock, score)
    scores[i] = text(score)
  end
end

local reply = scores
if fresh > 0 then
  redis.call('HSET', KEYS[1], 'clock', text(clock), 'last', newest(head[4], ARGV[6]))

  -- Write the bodies, and one block of ids for notices that expire at the same time.
  if fresh == n then
    call('HSET', KEYS[2], ARGV, bodies, expiries - 1)
  else
    local some = {}
    for i = 1, n do
      if not old[i] then
        some[#some + 1] = ids[i]
        some[#some + 1] = ARGV[bodies + 2 * i - 1]
      end
    end
    call('HSET', KEYS[2], some, 1, #some)
  end
  local blocks = {}
  for i = 1, n do
    if not old[i] then
      local at = ARGV[expiries + i - 1]
      local block = blocks[at]
      if not block then
        block = {}
        blocks[at] = block
      end
      block[#block + 1] = ids[i]
    end
  end
  for at, block in pairs(blocks) do
    redis.call('ZADD', KEYS[3], at, table.concat(block, ' '))
  end

  for at = popups + 1, names - 1 do
    local i = tonumber(ARGV[at])
    if not old[i] then redis.call('ZADD', KEYS[5], scores[i], ids[i]) end
  end

  -- Register the inboxes by name, so that a rebuild can find them.
  local register = {}
  for i = 1, subscribers do
    register[2 * i - 1] = '0'
    register[2 * i] = ARGV[names + i - 1]
  end
  for i = 1, #register, CHUNK do
    redis.call('ZADD', KEYS[4], 'NX', unpack(register, i, math.min(i + CHUNK - 1, #register)))
  end

  -- Inboxes that get the same notices share the arguments.
  local at = lists
  local c = newCut(KEYS[4], KEYS[6], cap, SURPLUS)
  while at <= #ARGV do
    local s = tonumber(ARGV[at])
    local m = tonumber(ARGV[at + s + 1])
    local add = {}
    for j = 1, m == 0 and n or m do
      local i = m == 0 and j or tonumber(ARGV[at + s + 1 + j])
      if not old[i] then
        add[#add + 1] = scores[i]
        add[#add + 1] = ids[i]
      end
    end
    for i = 1, s do
      local who = tonumber(ARGV[at + i])
      local key = KEYS[6 + who]
      call('ZADD', key, add, 1, #add)
      c.left = c.left + #add / 2
      cut(c, key, KEYS[6 + subscribers + who], ARGV[names + who - 1])
    end
    at = at + s + 2 + m
  end

  if ARGV[4] ~= '' then
    redis.call('PUBLISH', ARGV[4], ARGV[5] .. '\n' .. text(number(head[2])) .. '-' .. text(clock))
  end
  for _, id in ipairs(homeless(c)) do reply[#reply + 1] = id end
end
return reply
