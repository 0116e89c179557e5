-- Puts items into a queue: new items and lost items. Each item enters once only: the script checks the id first, and
-- then the dedupe key. The call does everything or nothing.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
--      11 string  the record: the last answer to this caller. It is "epoch call", then a line for each item, or no line
--                 if all are in. A call whose reply was lost is repeated, and its items may have been worked on by
--                 then. No key = the caller does not repeat calls
-- ARGV 3 channel for hints, 4 the hint
--      5 token: empty for a push, which does not put in an item that a repair may have put in before (see repair.lua);
--        * to write the whole queue back; else the token of a repair
--      6 the call's name; among names "name/number" with the same name, lower numbers are earlier calls, 7 ttl of the
--        record in ms
--      8 the lowest number (seq) of the items, 0 = they have none
--      9 kinds, n letters, one for each item: 1 … 5 = ready for any worker, at that priority, and gets the next place;
--        - = as its value says. A … E and + mean the same for an item with a dedupe key
--      10 the warehouses of the items: "warehouse number warehouse number …": the number of consecutive items of each
--      11 m, how many of the payloads are kept apart
--      then n × id
--      then n × value, with the state of the item, which is not leased
--      then the bucket of each item with a dedupe key
--      then the times of each such item: "until keep created". The window ends at until (0 = when the item has ended).
--        Its entry may be removed from keep on (0 = never). The item was created at created. All in µs
--      then the m payloads
-- Result: {1} = all items are in. Else n texts: empty = the item is in; = an item has that id; ! an item of another
--         warehouse has that id; ? a repair may have put it in; else the id of the item that holds the dedupe key,
--         which may be the same id. An empty list for a call that arrives late: its caller has gone on.
-- Error:  EPOCH <what was found, or none>; TOKEN <the newest>. Nothing was changed.

local meta = rcall('HMGET', META, 'epoch', 'due', 'repaired', 'repairs', 'last')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end
local call, kinds = ARGV[6], { string.byte(ARGV[9], 1, -1) }
local RECORD = KEYS[DECLARED + 1]
local record = RECORD and rcall('GET', RECORD)
if record then
  local epoch, last, answers = match(record, '^(%S+) (%S+)\n()')
  if epoch == ARGV[1] and last == call then
    local again = {}
    for answer in string.gmatch(string.sub(record, answers), '([^\n]*)\n') do again[#again + 1] = answer end
    return #again > 0 and again or { 1 }
  end
  local name, number = match(call, '^(%S+/)(%d+)$')
  if epoch == ARGV[1] and string.sub(last, 1, #name) == name and tonumber(string.sub(last, #name + 1)) > tonumber(number) then
    return {}
  end
end
local token = ARGV[5]
if token ~= '' and token ~= '*' and token ~= meta[4] then return redis.error_reply('TOKEN ' .. (meta[4] or 'none')) end

local now = clock()
local due, repaired, last = tonumber(meta[2] or 0), tonumber(meta[3] or 0), tonumber(meta[5] or 0)
local n, apart = #kinds, tonumber(ARGV[11])
local ids, values, buckets, payloads = 11, 11 + n, 11 + 2 * n, #ARGV - apart
local times = buckets + (payloads - buckets) / 2
local lowest = tonumber(ARGV[8])
local numbered = token ~= '' or (lowest > 0 and lowest <= repaired) -- the numbers of the items matter

-- Which items have the ids and hold the dedupe keys?
local known = mget(ITEMS, ARGV, ids + 1, ids + n)
local held = {}
for i, entry in ipairs(mget(DEDUPE, ARGV, buckets + 1, times)) do held[ARGV[buckets + i]] = entry end

local result, others, fresh, key = {}, false, {}, 0
local sets, holds, keeps, large = {}, {}, {}, {} -- arguments of HSET items, HSET dedupe, ZADD windows, HSET payloads
local timed, assigned = {}, {} -- arguments of ZADD, by letter and warehouse, and by warehouse
local put, enter = readyLists()
local counts = {} -- how many items are in, by warehouse
local newest, soon, filled, told = 0, false, {}, {} -- told: "warehouse worker" of workers that got assigned items
local owners, owner = split(ARGV[10]), -1
local warehouse, stay = nil, 0 -- of the current item, and how many more items belong to it

-- add appends two values to a list.
local function add(to, a, b)
  to[#to + 1] = a
  to[#to + 1] = b
end

-- holder returns the id of the item that holds a dedupe key. If no item holds the key, the item with the given id takes
-- it. An item that is put back, or begins another life, may hold its own key. For an item that is pushed for the first
-- time, a holder with the same id is an earlier item that has ended.
local function holder(id, bucket, window, value)
  local entry, ends, keep, created = held[bucket], '0', '0', nil
  if entry or string.byte(window) ~= 48 then ends, keep, created = match(window, '^(%d+) (%d+) (%d+)$') end
  if entry then
    local to, by = match(entry, '^(%d+) (.+)$')
    -- For a window of a day (100 is d) the bucket's name contains the day. So the times until and created do not
    -- matter.
    local foreign = by ~= id or token == '' and match(value, '^%a %d+ (%d+)') == '0'
    if foreign and (to == '0' or string.byte(bucket) == 100 or tonumber(created) < tonumber(to)) then return by end
  end
  entry = ends .. ' ' .. id
  held[bucket] = entry
  holds[#holds + 1] = bucket
  holds[#holds + 1] = entry
  if keep ~= '0' then
    keeps[#keeps + 1] = keep
    keeps[#keeps + 1] = bucket
  end
end

-- nextPlace returns a place behind all others, and not before now: places are the times when items became ready, made
-- distinct.
local function nextPlace()
  last = math.max(last + 1, now)
  return last
end

-- stand puts an item into the set that fits its value, and returns the value. A place of 0 is replaced by the next
-- place.
local function stand(id, value)
  local state, at, assignee, priority, order, place =
    match(value, '^(%a) %d+ %d+ (%d+) %S+ %d+ %d+ %d+ (%S+) %S+ %S+ (%d) %d+ %d+ (%S+) (%d+)\n')
  if state == READY then
    if place == '0' then
      place = text(nextPlace())
      value = gsub(value, ' 0\n', ' ' .. place .. '\n', 1)
    end
    local source, name, score = listed(warehouse, order, place, id)
    if assignee == '-' then
      put(priority, source, name, score)
      return value
    end
    local own = assigned[warehouse] or {}
    assigned[warehouse] = own
    add(own, '0', member(assignee, priority, order, place, id))
    told[warehouse .. ' ' .. assignee] = true
    return value
  end
  local name = state .. ' ' .. warehouse
  local set = timed[name] or {}
  timed[name] = set
  add(set, at, id)
  if state ~= DEAD then
    at = tonumber(at)
    if not set.due or at < set.due then set.due = at end
    if due == 0 or at < due then
      due = at
      soon = soon or at - now < SOON
    end
  end
  return value
end

for i = 1, n do
  local id, value, kind = ARGV[ids + i], ARGV[values + i], kinds[i]
  local keyed, seq, answer, payload = kind >= 65 or kind == 43, 0, nil, nil
  if stay == 0 then
    owner = owner + 2
    warehouse, stay = owners[owner], tonumber(owners[owner + 1])
  end
  stay = stay - 1
  if keyed then key = key + 1 end
  if apart > 0 and byte(value, -1) == MARK then
    payloads = payloads + 1
    payload = ARGV[payloads]
  end
  if numbered then seq = tonumber(match(value, '^%a %d+ %d+ %d+ %S+ %d+ %d+ (%d+)')) end
  if known[i] or fresh[id] then
    local of = fresh[id] or match(known[i], '^%a %d+ %d+ %d+ %S+ %d+ %d+ %d+ %S+ (%S+)')
    answer = of == warehouse and '=' or '!'
  elseif token == '' and seq > 0 and seq <= repaired then
    answer = '?'
  elseif keyed then
    answer = holder(id, ARGV[buckets + key], ARGV[times + key], value)
  end
  if answer then
    others = true
  else
    answer = ''
    fresh[id] = warehouse
    counts[warehouse] = (counts[warehouse] or 0) + 1
    if seq > newest then newest = seq end
    if kind < 48 then
      value = stand(id, value)
    else
      put(kind % 16, warehouse, id, nextPlace())
    end
    sets[#sets + 1] = id
    sets[#sets + 1] = value
    if payload then
      large[#large + 1] = id
      large[#large + 1] = payload
    end
  end
  result[i] = answer
end

if #sets > 0 then
  each('HSET', ITEMS, sets)
  each('HSET', PAYLOADS, large)
  each('HSET', DEDUPE, holds)
  each('ZADD', WINDOWS, keeps)
  local changed, kept = {}, {} -- kept: warehouses that may be new
  local function note(field, value)
    changed[#changed + 1] = field
    changed[#changed + 1] = text(value)
  end
  for name, set in pairs(timed) do
    local letter, of = string.sub(name, 1, 1), string.sub(name, 3)
    each('ZADD', setKey(letter, of), set)
    if set.due then rcall('ZADD', WAITS, 'LT', text(set.due), name) end
    kept[of] = true
  end
  enter(filled)
  for of in pairs(filled) do kept[of] = true end
  for of, list in pairs(assigned) do
    each('ZADD', ASSIGNED, list)
    each('ZADD', assignedKey(of), list)
    kept[of] = true
  end
  register(kept)
  if due ~= tonumber(meta[2] or 0) then note('due', due) end
  if last ~= tonumber(meta[5] or 0) then note('last', last) end
  if token ~= '' and newest > repaired then note('repaired', newest) end
  each('HSET', META, changed)
  if token == '' then
    for of, count in pairs(counts) do tally(of, now, count, 0, 0, 0) end
  end
  wakeUp(filled, ARGV[3], ARGV[4])
  if soon then rcall('PUBLISH', ARGV[3], ARGV[4]) end
  for who in pairs(told) do rcall('PUBLISH', ARGV[3], ARGV[4] .. ' ' .. who) end
end

-- Remove the entries of windows that ended long ago.
local old = rcall('ZRANGEBYSCORE', WINDOWS, '-inf', text(now), 'LIMIT', 0, 100)
if #old > 0 then
  rcall('HDEL', DEDUPE, unpack(old))
  rcall('ZREM', WINDOWS, unpack(old))
end
if RECORD then
  local answers = others and table.concat(result, '\n') .. '\n' or ''
  rcall('SET', RECORD, ARGV[1] .. ' ' .. call .. '\n' .. answers, 'PX', ARGV[7])
end
return others and result or { 1 }
