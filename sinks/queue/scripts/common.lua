-- The shared part of a queue's scripts: Go puts this text before the text of each script. All scripts declare the keys
-- of the queue first, and begin with the same arguments.
--
-- KEYS 1 meta       hash    epoch     the epoch in force
--                           layout    of these keys; see keys.go
--                           paused    1: nothing is leased; paused_by, paused_at: who changed that, and when, µs
--                           due       no lease ends and no item becomes ready before this time, µs; 0 or absent =
--                                     nothing is due
--                           out       number of the last entry of the outbox, counted from the beginning of the epoch
--                           drained   number of the last entry that was removed from the outbox
--                           moved     how many moves all entries up to out have
--                           last      the last place given to an item; see value.go
--                           repairs, repaired   see repair.lua
--                           drainer, drain_until   see drain.lua
--      2 items      hash    id → head, newline, payload, or the mark of a payload kept apart: see value.go
--      3 assigned   zset    "worker level rank member" at score 0, for items ready for one worker only. The level
--                           counts from 0 = priority 5. The rank is the order or the place, with 16 digits. The member
--                           is as in a ready list
--      4 waits      zset    "letter warehouse" → a time, µs: no item of that state and warehouse is due before it
--      5 warehouses zset    the warehouses that have items, all at score 0
--      6 dedupe     hash    bucket → "until id"; until in µs, 0 = until the item has ended
--      7 windows    zset    bucket → when its entry is no longer needed, µs
--      8 outbox     list    entries. The first line is "at node moved": moved is meta.moved before this entry. Then a
--                           line for each move: "seq n from to attempt failures suspends due assignee by note". States
--                           are letters, by and note are escaped as in a URL's query, - is an empty text. If the item's
--                           priority, order or payload changed, its revision follows: see item.Revision. After the
--                           moves of an order there is a line "! order outcomes": the order as step.lua got it, and a
--                           letter for each of its operations
--      9 payloads   hash    id → payload, of exactly the items whose values have the mark
--      10 news      hash    id → "priority order source apart", newline, payload: the change that a leased item takes
--                           over when it waits again; see value.go
--
-- Each level (5 … 1) and each warehouse W has further keys. Their names begin as the name of the meta key, and the keys
-- lie in the slot of the meta key. W is escaped as in a URL; = stands for items without a warehouse. No call declares
-- these keys, because only the items tell which of these keys a call needs:
--   heads:<level>    zset  source → the lowest score in its ready list. A source is W, or W/o for the items of W that
--                        have an order
--   ready:<level>:<source>  zset  items that any worker may lease: id → place; with an order, "place id" → order. The
--                         ready lists of a level, merged by (score, source, member), give the order of service of the
--                         level
--   since:<level>:W  zset  the members of ready:<level>:W/o at score 0: the first has been ready for longest
--   assigned:W       zset  like assigned
--   leased:W         zset  id → end of the lease, µs
--   delayed:W, suspended:W, stored:W   zset   id → when it becomes ready, µs
--   dead:W           zset  id → when it died, µs
--   recent:W         hash  0 … 30 → counts of one slot of time, see tally
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME

local DECLARED = 10 -- keys of the queue; keys of a single call follow
local META, ITEMS, ASSIGNED, WAITS, WAREHOUSES, DEDUPE, WINDOWS, OUTBOX, PAYLOADS, NEWS = unpack(KEYS, 1, DECLARED)

-- The common beginning of the queue's keys.
local BASE = string.sub(META, 1, -5)

-- The states of items, as written in values and moves.
local READY, LEASED, DELAYED, SUSPENDED, STORED, DEAD, DONE, REMOVED = 'r', 'l', 'y', 's', 't', 'x', 'd', 'm'

-- The sets of items that wait for a time, and of dead items, by state.
local SETS = { [LEASED] = 'leased:', [DELAYED] = 'delayed:', [SUSPENDED] = 'suspended:', [STORED] = 'stored:', [DEAD] = 'dead:' }

-- The first byte (u) of a bucket whose entry lasts until its item has ended.
local UNTIL_ENDED = 117

-- How many arguments one command gets: unpack needs room on Lua's stack. The number is even, so that pairs stay
-- together.
local CHUNK = 1000

-- About how many bytes of values and payloads one call returns. Large items take several calls.
local MOST_BYTES = 4000000

-- About how many bytes the largest value has: a payload of 64 KB and its head.
local LARGEST = 70000
-- A hint names at most so many warehouses. With more warehouses, the hint is *, which wakes one waiting call of each
-- scope.
local MANY = 16

-- If an item is due within this time, µs, a hint announces it, because waiting calls ask on their own only every 5 s.
local SOON = 5000000

-- Added to a place or an order, so that all numbers have 16 digits and sort as text.
local MIDDLE = 5000000000000000

-- Moves are counted in slots of so many µs: the current slot, and those of the five minutes before.
local SLOT, SLOTS = 10000000, 31

-- The last byte (@) of a value whose payload is kept apart. No JSON value ends with it.
local MARK = 64

local rcall, match, gsub, byte = redis.call, string.match, string.gsub, string.byte

-- text writes a number as Redis and Go read it. Lua's .. must not be used for numbers, because it rounds them.
local function text(n) return string.format('%.0f', n) end

-- evenIfFull lets the rest of the script write when the memory of Redis is full. Redis refuses a script whose first
-- write can need memory; this write needs no memory. Scripts that continue existing work call evenIfFull. Scripts that
-- bring new items must not call it.
local function evenIfFull() rcall('HDEL', META, '-') end

local function epochError(found) return redis.error_reply('EPOCH ' .. (found or 'none')) end

local function clock()
  local now = tonumber(ARGV[2])
  if now == 0 then
    local t = rcall('TIME')
    now = t[1] * 1000000 + t[2]
  end
  return now
end

-- each runs a command on a key with any number of arguments, and returns the answer of the last call.
local function each(command, key, args)
  local n, answer = #args, nil
  if n > 0 and n <= CHUNK then return rcall(command, key, unpack(args)) end
  for i = 1, n, CHUNK do
    answer = rcall(command, key, unpack(args, i, math.min(i + CHUNK - 1, n)))
  end
  return answer
end

-- mget reads the fields list[first … last] of a hash into a table that begins at 1.
local function mget(key, list, first, last)
  if last < first then return {} end
  if last - first < CHUNK then return rcall('HMGET', key, unpack(list, first, last)) end
  local all, n = {}, 0
  for i = first, last, CHUNK do
    for _, v in ipairs(rcall('HMGET', key, unpack(list, i, math.min(i + CHUNK - 1, last)))) do
      n = n + 1
      all[n] = v
    end
  end
  return all
end

-- payloadsOf reads the payloads that are kept apart, for items with these ids and values. It returns a table from the
-- item's place in the lists to the payload. If a payload is gone, the item counts as missing: its value becomes false,
-- and its id is in the second result.
local NONE = {}
local function payloadsOf(ids, values)
  local places, apart = nil, nil
  for i = 1, #values do
    if values[i] and byte(values[i], -1) == MARK then
      if not places then places, apart = {}, {} end
      places[#places + 1], apart[#apart + 1] = i, ids[i]
    end
  end
  if not places then return NONE, NONE end
  local payloads, lost = {}, {}
  for k, payload in ipairs(mget(PAYLOADS, apart, 1, #apart)) do
    if payload then
      payloads[places[k]] = payload
    else
      values[places[k]] = false
      lost[#lost + 1] = apart[k]
    end
  end
  return payloads, lost
end

-- whole returns a value with the payload that was kept apart.
local function whole(value, payload) return match(value, '^[^\n]*\n') .. payload end

-- fill completes the values of the ids with the payloads that are kept apart.
local function fill(ids, values)
  for i, payload in pairs((payloadsOf(ids, values))) do values[i] = whole(values[i], payload) end
end

-- page reads the values of ids, with their payloads. It stops after "most" items, or once "room" bytes are full. It
-- returns the values (false where there is no item), how many ids it has read, and what is left of the two limits.
local function page(ids, most, room)
  local values, looked = {}, 0
  for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do
    if most == 0 or room <= 0 then break end
    values[i], looked = value, i
    if value then
      local apart = byte(value, -1) == MARK and match(value, '(%d+)@$') or 0
      most, room = most - 1, room - #value - apart
    end
  end
  fill(ids, values)
  return values, looked, most, room
end

local function readyKey(level, source) return BASE .. 'ready:' .. level .. ':' .. source end

local function headsKey(level) return BASE .. 'heads:' .. level end

local function sinceKey(level, warehouse) return BASE .. 'since:' .. level .. ':' .. warehouse end

local function setKey(state, warehouse) return BASE .. SETS[state] .. warehouse end

local function assignedKey(warehouse) return BASE .. 'assigned:' .. warehouse end

local function digits(place) return text(place + MIDDLE) end

-- listed returns how an item stands in its ready list: the source, the member and the score (a number). order is - or
-- the text of a number.
local function listed(warehouse, order, place, id)
  if order == '-' then return warehouse, id, place + 0 end
  return warehouse .. '/o', digits(place) .. ' ' .. id, order + 0
end

-- member returns how an item that is ready for one worker only stands in assigned.
local function member(worker, priority, order, place, id)
  local _, name, score = listed('', order, place, id)
  return worker .. ' ' .. (5 - priority) .. ' ' .. digits(score) .. ' ' .. name
end

-- split returns the words of a text, separated by spaces.
local function split(words)
  local list = {}
  for word in string.gmatch(words, '%S+') do list[#list + 1] = word end
  return list
end

-- warehousesOf returns the warehouses of a scope. * is every warehouse that has items.
local function warehousesOf(scope)
  if scope == '*' then return rcall('ZRANGE', WAREHOUSES, 0, -1) end
  return split(scope)
end

-- readyLists collects items for ready lists. It returns two functions: put adds an item; enter writes all items, and
-- marks in filled the warehouses with a list that was empty.
local function readyLists()
  local lists, list = {}, nil -- by "level source", each with scores and members in turn; the one that was used last

  local function put(level, source, name, score)
    if not list or list.level ~= level or list.source ~= source then
      local key = level .. ' ' .. source
      list = lists[key] or { level = level, source = source, n = 0, lowest = math.huge }
      lists[key] = list
    end
    local k = list.n
    list[k + 1], list[k + 2], list.n = text(score), name, k + 2
    if score < list.lowest then list.lowest = score end
  end

  local function enter(filled)
    for _, members in pairs(lists) do
      local level, source, key = members.level, members.source, readyKey(members.level, members.source)
      each('ZADD', key, members)
      rcall('ZADD', headsKey(level), 'LT', text(members.lowest), source)
      local warehouse = match(source, '^(.*)/o$')
      if warehouse then
        local since = {}
        for i = 1, members.n, 2 do since[i], since[i + 1] = '0', members[i + 1] end
        each('ZADD', sinceKey(level, warehouse), since)
      end
      warehouse = warehouse or source
      if rcall('ZCARD', key) == members.n / 2 then filled[warehouse] = true end
    end
    lists, list = {}, nil
  end

  return put, enter
end

-- leave removes from the since set the members that have left a ready list. It collects the list's new first score for
-- the heads; nil = the list is empty.
local function leave(level, source, members, first, firsts, empty)
  local warehouse = match(source, '^(.*)/o$')
  if warehouse then each('ZREM', sinceKey(level, warehouse), members) end
  if first then
    firsts[#firsts + 1] = text(first)
    firsts[#firsts + 1] = source
  else
    empty[#empty + 1] = source
  end
end

-- forget updates the heads after a ready list has lost members.
local function forget(level, source, members)
  local firsts, empty = {}, {}
  local first = rcall('ZRANGE', readyKey(level, source), 0, 0, 'WITHSCORES')[2]
  leave(level, source, members, first and first + 0, firsts, empty)
  each('ZADD', headsKey(level), firsts)
  each('ZREM', headsKey(level), empty)
end

-- register adds the warehouses to the set of warehouses that have items.
local function register(warehouses)
  local args = {}
  for warehouse in pairs(warehouses) do
    args[#args + 1] = '0'
    args[#args + 1] = warehouse
  end
  each('ZADD', WAREHOUSES, args)
end

-- wakeUp sends hints for the warehouses: in each process the hint wakes one waiting call, and that call asks Redis.
local function wakeUp(warehouses, channel, hint)
  local names = {}
  for warehouse in pairs(warehouses) do names[#names + 1] = warehouse end
  if #names > MANY then names = { '*' } end
  for _, warehouse in ipairs(names) do rcall('PUBLISH', channel, hint .. ' ' .. warehouse) end
end

-- tally counts the moves of a call in a warehouse: items pushed and done, failed attempts, and items that died. A slot
-- is a text "number pushed done failed dead". It replaces the slot of 310 s ago.
local function tally(warehouse, now, pushed, done, failed, dead)
  if pushed + done + failed == 0 then return end
  local slot = math.floor(now / SLOT)
  local key, field = BASE .. 'recent:' .. warehouse, text(slot % SLOTS)
  local number, p, d, f, x = match(rcall('HGET', key, field) or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if number ~= text(slot) then p, d, f, x = 0, 0, 0, 0 end
  rcall('HSET', key, field, text(slot) .. ' ' .. text(p + pushed) .. ' ' .. text(d + done) .. ' ' .. text(f + failed) .. ' ' .. text(x + dead))
end
