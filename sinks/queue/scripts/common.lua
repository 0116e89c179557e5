-- What the scripts of a queue share: Go puts this before the text of each. All of them declare the keys of the queue first
-- and begin with the same arguments.
--
-- KEYS 1 meta       hash    epoch     in force
--                           layout    of these keys; see keys.go
--                           paused    1: nothing is leased; paused_by, paused_at: who changed that, and when, µs
--                           due       no lease ends and nothing becomes ready before it, µs; 0 or absent = there is nothing
--                           out       number of the last entry of the outbox, counted from the epoch's beginning
--                           drained   number of the last entry that was taken out of it
--                           moved     how many moves those entries had
--                           last      the last place given; see value.go
--                           repairs, repaired   see repair.lua
--      2 items      hash    id → head, newline, payload, or the mark that the payload lies apart: see value.go
--      3 assigned   zset    "worker level rank member" at score 0, ready for one worker alone; level counts from 0 = priority 5, rank
--                           is the order or the place with 16 digits, member as in a ready list
--      4 waits      zset    "letter warehouse" → a time, µs, before which nothing of that set is due
--      5 warehouses zset    the warehouses that have items, all at score 0
--      6 dedupe     hash    bucket → "until id"; until in µs, 0 = until the item has ended
--      7 windows    zset    bucket → when its entry is of no use any more, µs
--      8 outbox     list    entries: a line "at node moved", the last as it was before; then for each move a line
--                           "seq n from to attempt failures suspends due assignee by note": states as letters, by and
--                           note escaped as in a URL's query, - for an empty text, and behind them the item's revision where it has changed
--                           otherwise: see item.Revision; and behind the moves of an order a line
--                           "! order outcomes": the order as step.lua was given it, and a letter for each of its operations
--      9 payloads  hash    id → payload, of the items whose values have the mark, and of no others
--      10 news     hash    id → "priority order source apart", newline, payload: what a leased item takes when it waits again; see value.go
-- Beside the meta key, and named as it is, lie the keys of each level (5 … 1) and of each warehouse W, escaped as in a URL (= is for what
-- belongs to none). They are not declared, since only the items tell which a call needs; all lie in the slot of the meta key:
--   heads:<level>    zset  source → the lowest score of its ready list. A source is W, or W/o for the items of W that have an order
--   ready:<level>:<source>  zset  the items that are ready for anybody: id → place, or of those with an order "place id" → order. The
--                          ready lists of a level, merged by (score, source, member), are the order of service of the level
--   since:<level>:W  zset  the same members at score 0, of the items with an order: the first is ready for longest
--   assigned:W       zset  as assigned
--   leased:W         zset  id → end of the lease, µs
--   delayed:W, suspended:W, stored:W   zset   id → when it becomes ready, µs
--   dead:W           zset  id → when it died, µs
--   recent:W         hash  0 … 30 → what moved of late, see tally
-- ARGV 1 epoch that the caller believes in
--      2 now, µs; 0 = the server's TIME

local DECLARED = 10 -- keys of the queue; those of a call follow
local META, ITEMS, ASSIGNED, WAITS, WAREHOUSES, DEDUPE, WINDOWS, OUTBOX, PAYLOADS, NEWS = unpack(KEYS, 1, DECLARED)

-- What the keys of the queue begin with.
local BASE = string.sub(META, 1, -5)

-- The states of items, as values and moves have them.
local READY, LEASED, DELAYED, SUSPENDED, STORED, DEAD, DONE, REMOVED = 'r', 'l', 'y', 's', 't', 'x', 'd', 'm'

-- The sets of items that wait for a time, and of the dead, by the state.
local SETS = { [LEASED] = 'leased:', [DELAYED] = 'delayed:', [SUSPENDED] = 'suspended:', [STORED] = 'stored:', [DEAD] = 'dead:' }

-- The first byte of a bucket whose entry lasts until its item has ended: u.
local UNTIL_ENDED = 117

-- How many arguments one call takes: unpack needs room on Lua's stack. It is even, so that pairs stay together.
local CHUNK = 1000

-- How many bytes of values and payloads one call hands out, about: large items come in several calls.
local MOST_BYTES = 4000000

-- How many bytes the largest value has, about: a payload of 64 KB and what stands before it.
local LARGEST = 70000
-- Of more warehouses than so many a hint tells at once: * is one of each kind of those who wait.
local MANY = 16

-- A due time so near, in µs, is hinted at: those who wait look by themselves only so often.
local SOON = 5000000

-- What is added to a place or an order to write it with 16 digits.
local MIDDLE = 5000000000000000

-- What moved is counted in slots of so many µs: the one that is being filled, and those of five minutes before it.
local SLOT, SLOTS = 10000000, 31

-- The last byte of a value whose payload lies apart: @, with which no JSON value ends.
local MARK = 64

local rcall, match, gsub, byte = redis.call, string.match, string.gsub, string.byte

-- A number as Redis and Go read it. Numbers never become text through Lua's .., which rounds them.
local function text(n) return string.format('%.0f', n) end

local function epochError(found) return redis.error_reply('EPOCH ' .. (found or 'none')) end

local function clock()
  local now = tonumber(ARGV[2])
  if now == 0 then
    local t = rcall('TIME')
    now = t[1] * 1000000 + t[2]
  end
  return now
end

-- each runs a command on a key with any number of arguments, and returns what the last call answered.
local function each(command, key, args)
  local n, answer = #args, nil
  if n > 0 and n <= CHUNK then return rcall(command, key, unpack(args)) end
  for i = 1, n, CHUNK do
    answer = rcall(command, key, unpack(args, i, math.min(i + CHUNK - 1, n)))
  end
  return answer
end

-- mget reads fields of a hash: list[first … last], in a table that begins at 1.
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

-- payloadsOf reads the payloads that lie apart, of items with these ids and values: a table by their places in the lists. Where a payload is
-- gone, the item is as good as missing: its value becomes false, and its id is in the second list.
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

-- whole is a value with a payload that lay apart.
local function whole(value, payload) return match(value, '^[^\n]*\n') .. payload end

-- fill puts the payloads that lie apart into the values of the ids.
local function fill(ids, values)
  for i, payload in pairs((payloadsOf(ids, values))) do values[i] = whole(values[i], payload) end
end

-- page reads the values of ids, with their payloads: of so many items at most, and none behind that which fills so many bytes. It returns the
-- values, false where there is no item, how many ids it has looked at, and what is left of the two limits.
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

-- listed is how an item stands in its ready list: the source, the member and the score, a number. Order is - or the text of a number.
local function listed(warehouse, order, place, id)
  if order == '-' then return warehouse, id, place + 0 end
  return warehouse .. '/o', digits(place) .. ' ' .. id, order + 0
end

-- member is how an item that is ready for one worker alone stands in assigned.
local function member(worker, priority, order, place, id)
  local _, name, score = listed('', order, place, id)
  return worker .. ' ' .. (5 - priority) .. ' ' .. digits(score) .. ' ' .. name
end

-- split makes a list of words with spaces between them.
local function split(words)
  local list = {}
  for word in string.gmatch(words, '%S+') do list[#list + 1] = word end
  return list
end

-- warehousesOf lists the warehouses of a scope: * is all that have items.
local function warehousesOf(scope)
  if scope == '*' then return rcall('ZRANGE', WAREHOUSES, 0, -1) end
  return split(scope)
end

-- readyLists collects what is to be put into ready lists. It returns a function that adds an item, and one that puts all in and notes
-- in filled the warehouses of which a list was empty.
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

-- leave takes members that have left a ready list out of since, and collects for the heads what is the first score now: nil = there is none.
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

-- forget tells the heads what is the first of a ready list that has lost members.
local function forget(level, source, members)
  local firsts, empty = {}, {}
  local first = rcall('ZRANGE', readyKey(level, source), 0, 0, 'WITHSCORES')[2]
  leave(level, source, members, first and first + 0, firsts, empty)
  each('ZADD', headsKey(level), firsts)
  each('ZREM', headsKey(level), empty)
end

-- register makes sure that the warehouses are known to those who look.
local function register(warehouses)
  local args = {}
  for warehouse in pairs(warehouses) do
    args[#args + 1] = '0'
    args[#args + 1] = warehouse
  end
  each('ZADD', WAREHOUSES, args)
end

-- wakeUp has those who wait for items of the warehouses ask: one of each process.
local function wakeUp(warehouses, channel, hint)
  local names = {}
  for warehouse in pairs(warehouses) do names[#names + 1] = warehouse end
  if #names > MANY then names = { '*' } end
  for _, warehouse in ipairs(names) do rcall('PUBLISH', channel, hint .. ' ' .. warehouse) end
end

-- tally counts what a call has moved in a warehouse: items pushed and done, attempts that failed, items that died of it. A slot is a
-- text "number pushed done failed dead"; that of 310 s ago gives up its place.
local function tally(warehouse, now, pushed, done, failed, dead)
  if pushed + done + failed == 0 then return end
  local slot = math.floor(now / SLOT)
  local key, field = BASE .. 'recent:' .. warehouse, text(slot % SLOTS)
  local number, p, d, f, x = match(rcall('HGET', key, field) or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if number ~= text(slot) then p, d, f, x = 0, 0, 0, 0 end
  rcall('HSET', key, field, text(slot) .. ' ' .. text(p + pushed) .. ' ' .. text(d + done) .. ' ' .. text(f + failed) .. ' ' .. text(x + dead))
end
