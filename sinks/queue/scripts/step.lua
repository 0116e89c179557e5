-- One round of work for some callers at once: applies their operations, takes back leases that have ended, makes ready what
-- is due, and leases items. Payloads are passed on, never read.
--
-- KEYS 1 … 16 and ARGV 1, 2: see common.lua
--     17 … 16+p   string  records: what a caller was answered last, so that a call that is repeated does nothing twice.
--                         "epoch id", then a line "outcomes;dues;id attempt id attempt …" for each of its requests
-- ARGV 3 channel for hints, 4 the hint
--      5 node, as the outbox names it; empty = nothing is recorded
--      6 failures after which an item is dead
--      7 how long the first, second … suspend lasts: µs with spaces between them
--      8 how many moves may wait in the outbox
--      9 r, the number of requests, 10 n, the number of operations
--      then p × (id, ttl in ms) of the records
--      then r × (number of its record 1 … p, how many of the operations are its own, max, lease in µs, worker, by)
--      then kinds, n letters: a ack, n nack, r release, e extend, s suspend, t store, f finish, g assign, m remove,
--           q requeue; A is an ack with an argument, every other but a has one
--      then n × id, n × attempt
--      then the arguments of the operations that have one: "delay worker force note"
-- Result: 1 if ready items are left, else 0; µs until something is due, -1 = never;
--         then for each request: its outcomes, a letter each: the state that the item is in now, or L lease_lost,
--         N item_not_found, H item_leased, S suspend_limit, D item_not_dead, X item_dead;
--         the due times of those items that have one, with spaces between them; k, then k × (id, value) of leased items.
-- Error:  EPOCH <what was found, or none>, BACKLOG: the outbox is full. Nothing was changed.

local meta = rcall('HMGET', META, 'epoch', 'paused', 'due', 'out', 'drained', 'moved', 'first', 'last')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end
local node = ARGV[5]
local recording = node ~= ''
local out, moved = tonumber(meta[4] or 0), tonumber(meta[6] or 0)
if recording and out - (meta[5] or 0) > 1000 then
  local before = match(rcall('LINDEX', OUTBOX, 0) or '', '^%d+ %S+ (%d+)')
  if before and moved - before > tonumber(ARGV[8]) then return redis.error_reply('BACKLOG') end
end

local now = clock()
local nowText = text(now)
local due = tonumber(meta[3] or 0)
local filled, hint = false, false -- a level was empty before; those who wait are to look in any case
local told = {} -- workers who have something of their own
local requests, operations = tonumber(ARGV[9]), tonumber(ARGV[10])
local records = #KEYS - 16
local request = 10 + 2 * records -- before the first request's arguments
local kinds = ARGV[request + 6 * requests + 1]
local opIDs = request + 6 * requests + 1
local attempts = opIDs + operations
local argument = attempts + operations -- before the next operation's argument

local lines, moves = { '' }, 1 -- the entry of the outbox
local incremented = {}

-- up adds 1 to a number that is a text; a batch has few different ones.
local function up(n)
  local next = incremented[n]
  if not next then
    next = text(n + 1)
    incremented[n] = next
  end
  return next
end

-- lower keeps the promise of due: nothing is due before it.
local function lower(at)
  if due == 0 or at < due then due = at end
end

-- What is known of the items that are operated on: their value, a table once more than an ack concerns them, false = there
-- is none. touched lists the tables, gone the items that have ended, freed their buckets and ids in turn.
local items, touched, gone, freed = {}, {}, {}, {}
local heads, tails = {}, {} -- items to be put before or behind the others of their level
local unleased = {}

-- open makes a table of a value.
local function open(id)
  local it = items[id]
  if type(it) ~= 'string' then return it end
  local state, attempt, n, at, worker, failures, suspends, seq, assignee, bucket, priority, ready, created, place, payload =
    match(it, '^(%a) (%d+) (%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%S+) (%S+) (%d) (%d+) (%d+) (%d+)\n()')
  if not state then return false end
  it = {
    id = id, value = it, payload = payload, state = state, attempt = attempt, moves = n, due = at, worker = worker,
    failures = failures, suspends = suspends, seq = seq, assignee = assignee, bucket = bucket, priority = priority,
    ready = ready, created = created, place = place,
    home = state, homeAssignee = assignee, homePlace = place, -- where Redis has it
  }
  items[id] = it
  touched[#touched + 1] = it
  return it
end

-- moveTo changes the state of an item, and records that.
local function moveTo(it, to, at, by, note)
  it.moves = up(it.moves)
  if recording then
    moves = moves + 1
    lines[moves] = it.seq .. ' ' .. it.moves .. ' ' .. it.state .. ' ' .. to .. ' ' .. it.attempt .. ' ' .. it.failures .. ' '
      .. it.suspends .. ' ' .. at .. ' ' .. it.assignee .. ' ' .. by .. ' ' .. note
  end
  it.state, it.due, it.worker = to, at, '-'
  it.list = nil
end

-- putInto makes an item ready, in heads or tails.
local function putInto(list, it, by, note)
  moveTo(it, 'r', '0', by, note)
  if list == tails then it.ready = nowText end
  list[#list + 1] = it
  it.list, it.at = list, #list
end

-- fail ends an attempt: the item goes to the list, or waits for a time, or is dead.
local function fail(it, list, delay, by, note)
  it.failures = up(it.failures)
  if tonumber(it.failures) >= tonumber(ARGV[6]) then
    moveTo(it, 'x', nowText, by, note)
  elseif delay > 0 then
    moveTo(it, 'y', text(now + delay), by, note)
  else
    putInto(list, it, by, note)
  end
end

-- act applies an operation to an opened item, and returns what is wrong.
local function act(kind, it, attempt, delay, worker, force, by, note)
  if not it or it.state == 'd' or it.state == 'm' then return 'N' end
  if attempt ~= '0' then
    if it.state ~= 'l' or it.attempt ~= attempt then return 'L' end
  elseif it.state == 'l' and force ~= '1' then
    return 'H'
  end
  if kind == 'q' and it.state ~= 'x' then return 'D' end
  if it.state == 'x' and kind ~= 'q' and kind ~= 'm' then return 'X' end

  if kind == 'a' or kind == 'f' then
    moveTo(it, 'd', '0', by, note)
  elseif kind == 'm' then
    moveTo(it, 'm', '0', by, note)
  elseif kind == 'n' then
    fail(it, tails, delay, by, note)
  elseif kind == 'r' then
    putInto(heads, it, by, note)
  elseif kind == 'e' then
    it.due = text(now + delay)
  elseif kind == 's' then
    local step, i = nil, 0
    for s in string.gmatch(ARGV[7], '%d+') do
      if i == tonumber(it.suspends) then step = s end
      i = i + 1
    end
    if not step then return 'S' end
    it.suspends = up(it.suspends)
    moveTo(it, 's', text(now + step), by, note)
  elseif kind == 't' then
    it.suspends = '0'
    moveTo(it, 't', text(now + delay), by, note)
  elseif kind == 'q' then
    it.failures = '0'
    putInto(tails, it, by, note)
  elseif kind == 'g' and it.assignee ~= worker then
    it.assignee = worker
    if it.state == 'r' then
      putInto(tails, it, by, note)
    else
      moveTo(it, it.state, it.due, by, note)
    end
  end
end

-- pull takes ids out of the middle of a level. A few are looked for one by one; for many the list is read once up to the last
-- of them.
local function pull(priority, ids)
  local key = readyKey(priority)
  if #ids <= 16 then
    for _, id in ipairs(ids) do rcall('LREM', key, 1, id) end
    return
  end
  local wanted, left, at, marked = {}, #ids, 0, 0
  for _, id in ipairs(ids) do wanted[id] = true end
  while left > 0 do
    local part = rcall('LRANGE', key, at, at + CHUNK - 1)
    if #part == 0 then break end
    for i, id in ipairs(part) do
      if wanted[id] then
        rcall('LSET', key, at + i - 1, '')
        left, marked = left - 1, marked + 1
      end
    end
    at = at + #part
  end
  if marked > 0 then rcall('LREM', key, marked, '') end
end

-- leave collects where an item is to be taken out of.
local function leave(it, out, levels)
  if it.home == 'l' then
    if it.state ~= 'l' then unleased[#unleased + 1] = it.id end
  elseif it.home ~= 'r' then
    if it.state ~= it.home then
      out[it.home] = out[it.home] or {}
      table.insert(out[it.home], it.id)
    end
  elseif it.state == 'r' and not it.list then
    return -- it stays where it is
  elseif it.homeAssignee ~= '-' then
    out.r = out.r or {}
    table.insert(out.r, member(it.homeAssignee, it.priority, it.homePlace, it.id))
  else
    levels[it.priority] = levels[it.priority] or {}
    table.insert(levels[it.priority], it.id)
  end
end

-- settle writes what open and act have changed.
local function settle()
  if #gone == 0 and #touched == 0 then return end
  local sets, out, into, levels, byLevel, own = {}, {}, {}, {}, {}, {}

  -- Those of heads and tails that are still to go there. Of heads the last one is put in first.
  local first, last = tonumber(meta[7] or MIDDLE), tonumber(meta[8] or MIDDLE)
  local function arrive(list, i, place)
    local it = list[i]
    if it.list ~= list or it.at ~= i then return false end
    if it.assignee == '-' then
      it.place = '0'
      byLevel[list] = byLevel[list] or {}
      byLevel[list][it.priority] = byLevel[list][it.priority] or {}
      table.insert(byLevel[list][it.priority], it.id)
      return false
    end
    it.place = text(place)
    own[#own + 1] = '0'
    own[#own + 1] = member(it.assignee, it.priority, it.place, it.id)
    told[it.assignee] = true
    return true
  end
  for i = #heads, 1, -1 do
    if arrive(heads, i, first - 1) then first = first - 1 end
  end
  for i = 1, #tails do
    if arrive(tails, i, last + 1) then last = last + 1 end
  end

  for _, it in ipairs(touched) do
    leave(it, out, levels)
    if it.state == 'd' or it.state == 'm' then
      gone[#gone + 1] = it.id
      if it.bucket ~= '-' and (it.state == 'm' or string.byte(it.bucket) == 117) then
        freed[#freed + 1] = it.bucket
        freed[#freed + 1] = it.id
      end
    else
      if it.state ~= 'r' then
        into[it.state] = into[it.state] or {}
        table.insert(into[it.state], it.due)
        table.insert(into[it.state], it.id)
        if it.state ~= 'x' then
          local at = tonumber(it.due)
          if it.state ~= 'l' and at - now < SOON and (due == 0 or at < due) then hint = true end
          lower(at)
        end
        it.place = '0'
      end
      sets[#sets + 1] = it.id
      sets[#sets + 1] = it.state .. ' ' .. it.attempt .. ' ' .. it.moves .. ' ' .. it.due .. ' ' .. it.worker .. ' ' .. it.failures
        .. ' ' .. it.suspends .. ' ' .. it.seq .. ' ' .. it.assignee .. ' ' .. it.bucket .. ' ' .. it.priority .. ' ' .. it.ready
        .. ' ' .. it.created .. ' ' .. it.place .. '\n' .. string.sub(it.value, it.payload)
    end
  end

  each('HDEL', ITEMS, gone)
  each('ZREM', LEASED, unleased)
  each('HSET', ITEMS, sets)
  for state, ids in pairs(out) do each('ZREM', state == 'r' and ASSIGNED or TIMED[state], ids) end
  for priority, ids in pairs(levels) do pull(priority, ids) end
  for state, members in pairs(into) do each('ZADD', state == 'l' and LEASED or TIMED[state], members) end
  for priority, ids in pairs(byLevel[heads] or {}) do
    filled = each('LPUSH', readyKey(priority), ids) == #ids or filled
  end
  for priority, ids in pairs(byLevel[tails] or {}) do filled = append(priority, ids) or filled end
  if #own > 0 then
    each('ZADD', ASSIGNED, own)
    meta[7], meta[8] = text(first), text(last)
    rcall('HSET', META, 'first', meta[7], 'last', meta[8])
  end

  -- A dedupe key goes with its item, unless another has taken it meanwhile.
  if #freed > 0 then
    local buckets, mine = {}, {}
    for i = 1, #freed, 2 do buckets[#buckets + 1] = freed[i] end
    for i, entry in ipairs(mget(DEDUPE, buckets, 1, #buckets)) do
      if entry and match(entry, ' (.+)$') == freed[2 * i] then mine[#mine + 1] = buckets[i] end
    end
    each('HDEL', DEDUPE, mine)
    local timed = {}
    for _, bucket in ipairs(mine) do
      if string.byte(bucket) ~= 117 then timed[#timed + 1] = bucket end
    end
    each('ZREM', WINDOWS, timed)
  end
  touched, gone, freed, unleased, heads, tails = {}, {}, {}, {}, {}, {}
  items = {}
end

-- What was answered before is answered again.
local answered, recordID = {}, {}
for p = 1, records do
  recordID[p] = ARGV[1] .. ' ' .. ARGV[10 + 2 * p - 1] .. '\n'
  local record = rcall('GET', KEYS[16 + p])
  if record and string.sub(record, 1, #recordID[p]) == recordID[p] then
    answered[p] = {}
    for row in string.gmatch(string.sub(record, #recordID[p] + 1), '([^\n]*)\n') do table.insert(answered[p], row) end
  end
end

-- 1. The operations.
for i, value in ipairs(mget(ITEMS, ARGV, opIDs + 1, opIDs + operations)) do items[ARGV[opIDs + i]] = value end
local answers, op, wanted = {}, 0, 0
for r = 1, requests do
  local at = request + 6 * (r - 1)
  local a = {
    record = tonumber(ARGV[at + 1]), max = tonumber(ARGV[at + 3]), lease = tonumber(ARGV[at + 4]), worker = ARGV[at + 5],
    leased = {}, values = {}, changed = false,
  }
  answers[r] = a
  local count, by = tonumber(ARGV[at + 2]), ARGV[at + 6]
  local before = answered[a.record] and table.remove(answered[a.record], 1)
  if before then
    a.outcomes, a.dues, a.before = match(before, '^([^;]*);([^;]*);(.*)$')
    for i = op + 1, op + count do
      if string.byte(kinds, i) ~= 97 then argument = argument + 1 end
    end
    op = op + count
  else
    local outcomes, dues = {}, {}
    for i = 1, count do
      op = op + 1
      local kind, id, attempt = string.sub(kinds, op, op), ARGV[opIDs + op], ARGV[attempts + op]
      local it = items[id]
      if kind == 'a' and type(it) == 'string' then
        -- The ordinary case needs no table.
        local held, n, counts, seq, assignee, bucket =
          match(it, '^l (%d+) (%d+) %d+ %S+ (%d+ %d+) (%d+) (%S+) (%S+)')
        if held == attempt then
          outcomes[i] = 'd'
          items[id] = false
          gone[#gone + 1] = id
          unleased[#unleased + 1] = id
          if string.byte(bucket) == 117 then
            freed[#freed + 1] = bucket
            freed[#freed + 1] = id
          end
          if recording then
            moves = moves + 1
            lines[moves] = seq .. ' ' .. up(n) .. ' l d ' .. held .. ' ' .. counts .. ' 0 ' .. assignee .. ' ' .. by .. ' -'
          end
        else
          outcomes[i] = 'L'
        end
      else
        local delay, worker, force, note = 0, '-', '0', '-'
        if kind ~= 'a' then
          argument = argument + 1
          local d
          d, worker, force, note = match(ARGV[argument], '^(%d+) (%S+) (%d) (%S+)$')
          delay = tonumber(d)
        end
        if kind == 'A' then kind = 'a' end
        it = open(id)
        local wrong = act(kind, it, attempt, delay, worker, force, by, note)
        outcomes[i] = wrong or it.state
        if not wrong and it.due ~= '0' then dues[#dues + 1] = it.due end
      end
      if outcomes[i] > 'Z' then a.changed = true end
    end
    a.outcomes, a.dues = table.concat(outcomes), table.concat(dues, ' ')
  end
  if a.before and a.before ~= '' then a.max = 0 end -- it has its items; one that got none may get some now
  wanted = wanted + a.max
end
settle()

-- 2. What is due.
if due > 0 and now >= due then
  local left = CHUNK
  local function take(set)
    local ids = rcall('ZRANGEBYSCORE', set, '-inf', nowText, 'LIMIT', 0, left)
    for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do items[ids[i]] = value end
    return ids
  end
  local astray = {}
  for _, id in ipairs(take(LEASED)) do
    local it = open(id)
    if it and it.state == 'l' then
      fail(it, heads, 0, '-', 'the+lease+ran+out')
    else
      astray[#astray + 1] = id
    end
  end
  each('ZREM', LEASED, astray)
  settle()
  for _, state in ipairs({ 'y', 's', 't' }) do
    if left > 0 then
      astray = {}
      local ids = take(TIMED[state])
      left = left - #ids
      for _, id in ipairs(ids) do
        local it = open(id)
        if it and it.state == state then
          putInto(tails, it, '-', '-')
        else
          astray[#astray + 1] = id
        end
      end
      each('ZREM', TIMED[state], astray)
    end
  end
  settle()
  due = 0
  for _, set in ipairs({ LEASED, TIMED.y, TIMED.s, TIMED.t }) do
    local head = rcall('ZRANGE', set, 0, 0, 'WITHSCORES')
    if head[2] then lower(head[2] + 0) end
  end
end

-- 3. The leases.

-- pop takes up to so many ids of the highest levels that have any.
local function pop(count, ids)
  while count > 0 do
    local popped = rcall('LMPOP', 5, KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], 'LEFT', 'COUNT', count)
    if not popped then return end
    for _, id in ipairs(popped[2]) do ids[#ids + 1] = id end
    count = count - #popped[2]
  end
end

-- popFor takes up to so many ids for a worker, its own first in each level.
local function popFor(worker, count, ids)
  local own = rcall('ZRANGEBYLEX', ASSIGNED, '[' .. worker .. ' ', '(' .. worker .. '!', 'LIMIT', 0, count)
  if #own == 0 then return pop(count, ids) end
  local taken, next = {}, 1
  for priority = 5, 1, -1 do
    while count > 0 and own[next] and match(own[next], '^%S+ (%d)') == tostring(5 - priority) do
      taken[#taken + 1] = own[next]
      ids[#ids + 1] = match(own[next], '(%S+)$')
      next, count = next + 1, count - 1
    end
    local popped = count > 0 and rcall('LPOP', readyKey(priority), count) or {}
    for _, id in ipairs(popped) do ids[#ids + 1] = id end
    count = count - #popped
  end
  each('ZREM', ASSIGNED, taken)
end

local sets, leases = {}, {}

-- lease gives an item to the one who made the request; false if it is not ready after all.
local function lease(a, id, value)
  local attempt, n, counts, seq, assignee, at = match(value or '', '^r (%d+) (%d+) %d+ %S+ (%d+ %d+) (%d+) (%S+)()')
  if not attempt then return false end
  attempt, n = up(attempt), up(n)
  local rest = string.sub(value, at)
  if assignee ~= '-' then rest = gsub(rest, ' %d+\n', ' 0\n', 1) end
  value = 'l ' .. attempt .. ' ' .. n .. ' ' .. a.ends .. ' ' .. a.worker .. ' ' .. counts .. ' ' .. seq .. ' ' .. assignee .. rest
  local k = #sets
  sets[k + 1], sets[k + 2] = id, value
  leases[k + 1], leases[k + 2] = a.ends, id
  k = #a.values
  a.values[k + 1], a.values[k + 2] = id, value
  a.leased[k + 1], a.leased[k + 2] = id, attempt
  if recording then
    moves = moves + 1
    lines[moves] = seq .. ' ' .. n .. ' r l ' .. attempt .. ' ' .. counts .. ' ' .. a.ends .. ' ' .. assignee .. ' ' .. a.worker .. ' -'
  end
  return true
end

-- share leases items to the requests from number r on, in their order. It returns how many were ready.
local function share(r, ids)
  local got = 0
  for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do
    while answers[r].max == 0 do r = r + 1 end
    if lease(answers[r], ids[i], value) then
      got = got + 1
      answers[r].max = answers[r].max - 1
    end
  end
  return got
end

local full = false
if wanted > 0 and meta[2] ~= '1' then
  for _, a in ipairs(answers) do a.ends = text(now + a.lease) end
  if rcall('EXISTS', ASSIGNED) == 0 then
    local ids
    repeat
      ids = {}
      pop(wanted, ids)
      wanted = wanted - share(1, ids)
    until #ids == 0 or wanted == 0
  else
    for r, a in ipairs(answers) do
      local ids
      while a.max > 0 and (not ids or #ids > 0) do
        ids = {}
        popFor(a.worker, a.max, ids)
        wanted = wanted - share(r, ids)
      end
    end
  end
  full = wanted == 0
  for _, a in ipairs(answers) do
    if #a.leased > 0 then lower(now + a.lease) end
  end
  each('HSET', ITEMS, sets)
  each('ZADD', LEASED, leases)
end

-- 4. What is remembered of it: the answers, the moves, when there is something to do again.
local changed, rows = {}, {}
for r, a in ipairs(answers) do
  local given = a.before
  if not given or given == '' then given = table.concat(a.leased, ' ') end
  rows[a.record] = (rows[a.record] or '') .. a.outcomes .. ';' .. a.dues .. ';' .. given .. '\n'
  if (a.changed or #a.leased > 0) then changed[a.record] = true end
end
for p, row in pairs(rows) do
  if changed[p] then rcall('SET', KEYS[16 + p], recordID[p] .. row, 'PX', ARGV[10 + 2 * p]) end
end
local fields = {}
if moves > 1 then
  lines[1] = nowText .. ' ' .. node .. ' ' .. text(moved)
  rcall('RPUSH', OUTBOX, table.concat(lines, '\n'))
  fields = { 'out', text(out + 1), 'moved', text(moved + moves - 1) }
end
if due ~= tonumber(meta[3] or 0) then
  fields[#fields + 1] = 'due'
  fields[#fields + 1] = text(due)
end
each('HSET', META, fields)

local left = 0
if full or filled then left = rcall('EXISTS', KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]) > 0 and 1 or 0 end
if hint or (filled and left == 1) then rcall('PUBLISH', ARGV[3], ARGV[4]) end
for worker in pairs(told) do rcall('PUBLISH', ARGV[3], ARGV[4] .. ' ' .. worker) end
local reply = { meta[2] ~= '1' and left or 0, due == 0 and -1 or math.max(due - now, 0) }
local k = #reply
for _, a in ipairs(answers) do
  local values = a.values
  if a.before and a.before ~= '' then
    local ids, given = {}, {}
    for id, attempt in string.gmatch(a.before, '(%S+) (%d+)') do
      ids[#ids + 1] = id
      given[#given + 1] = attempt
    end
    for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do
      if value and match(value, '^l (%d+)') == given[i] then
        values[#values + 1] = ids[i]
        values[#values + 1] = value
      end
    end
  end
  reply[k + 1], reply[k + 2], reply[k + 3] = a.outcomes, a.dues, #values / 2
  k = k + 3
  for i = 1, #values do reply[k + i] = values[i] end
  k = k + #values
end
return reply
