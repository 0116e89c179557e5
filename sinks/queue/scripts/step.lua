-- One round of work for some callers at once: applies their operations, takes back leases that have ended, makes ready what
-- is due, and leases items. Payloads are passed on, never read.
--
-- KEYS 1 … 16 and ARGV 1, 2: see common.lua
--     17 … 16+p   string  records: what a caller was answered last, so that a call that is repeated does nothing twice.
--                         "epoch id", the ids before that one, then a line "outcomes;dues;id attempt id attempt …" for
--                         each of its requests; - for the items says that there will be none
-- ARGV 3 channel for hints, 4 the hint
--      5 node, as the outbox names it; empty = nothing is recorded
--      6 failures after which an item is dead
--      7 how long the first, second … suspend lasts: µs with spaces between them
--      8 how many moves may wait in the outbox
--      9 r, the number of requests; 0 = only what is due, 10 n, the number of operations
--      then p × (id, ttl in ms) of the records; of ids that are the same up to a # the rest tells requests apart
--      then r × (number of its record 1 … p, how many of the operations are its own, max, lease in µs, worker, by,
--           1 = the answer counts even without items, 0 = there may be some when it is repeated)
--      then kinds, n letters: a ack, n nack, r release, e extend, s suspend, t store, f finish, g assign, m remove,
--           q requeue; A is an ack with an argument, every other but a has one
--      then n × id, n × attempt
--      then the arguments of the operations that have one: "delay worker force note"
-- Result: 1 if ready items are left, else 0; µs until something is due, -1 = never;
--         then for each request: its outcomes, a letter each: the state that the item is in now, or L lease_lost,
--         N item_not_found, H item_leased, S suspend_limit, D item_not_dead, X item_dead; * alone: the id is that of an
--         earlier request, which came late or twice, and nothing was done;
--         the due times of those items that have one, with spaces between them; k, then k × (id, value) of leased items;
--         k is -1 where it was answered before that there are none.
-- Error:  EPOCH <what was found, or none>, BACKLOG <how many moves are in the outbox>. Nothing was changed.

local meta = rcall('HMGET', META, 'epoch', 'paused', 'due', 'out', 'drained', 'moved')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end
local node = ARGV[5]
local recording = node ~= ''
local out, moved = tonumber(meta[4] or 0), tonumber(meta[6] or 0)
if recording and out - (meta[5] or 0) > 1000 then
  local before = match(rcall('LINDEX', OUTBOX, 0) or '', '^%d+ %S+ (%d+)')
  if before and moved - before > tonumber(ARGV[8]) then return redis.error_reply('BACKLOG ' .. text(moved - before)) end
end

local now = clock()
local requests, operations = tonumber(ARGV[9]), tonumber(ARGV[10])
local records = #KEYS - 16
local request = 10 + 2 * records -- before the first request's arguments
local opIDs = request + 7 * requests + 1
local attempts = opIDs + operations
local kinds = ARGV[opIDs]
local items, gone, freed = {}, {}, {} -- see work.lua
local lines, moves, due = { '' }, 1, tonumber(meta[3] or 0)

-- What is more than acks and leases has a table in hand, and the functions of work.lua.
local w, others
if string.find(kinds, '[^a]') or (due > 0 and now >= due) then
  w = {
    now = now, nowText = text(now), recording = recording, argument = attempts + operations, due = due, lines = lines, moves = 1,
    items = items, gone = gone, unleased = {}, freed = freed, done = 0, failed = 0, dead = 0, bytes = 0, filled = false, hint = false, told = {},
  }
  others = worker(w)
end

-- up adds 1 to a number that is a text; a batch has few different ones.
local incremented = {}
local function up(n)
  local next = incremented[n]
  if not next then
    next = text(n + 1)
    incremented[n] = next
  end
  return next
end

-- What was answered before is answered again. A copy of an earlier call that was held up on its way, and whose caller has long
-- been answered, would lease for nobody and have the last answer forgotten: so the ids before the last are known as well.
-- Calls of a process are numbered, "name/number": of these the lower ones are earlier.
local EARLIER = '^ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+'
local known = {}
for p = 1, records do
  local id = ARGV[9 + 2 * p]
  local k = { id = id, earlier = '', over = false, rows = false, answer = '', changed = false }
  known[p] = k
  local record = rcall('GET', KEYS[16 + p])
  if record then
    local epoch, last, before, rows = match(record, '^(%S+) (%S+)([^\n]*)\n()')
    if epoch ~= ARGV[1] then
      before = nil
    elseif last == id then
      k.earlier, k.rows = before, {}
      for row in string.gmatch(string.sub(record, rows), '([^\n]*)\n') do table.insert(k.rows, row) end
    elseif match(last, '^[^#]+') == match(id, '^[^#]+') then
      k.over = true
    else
      local name, number = match(id, '^(%S+/)(%d+)$')
      if name then
        k.over = string.sub(last, 1, #name) == name and tonumber(string.sub(last, #name + 1)) > tonumber(number)
      else
        k.over = string.find(before .. ' ', ' ' .. id .. ' ', 1, true)
        before = ' ' .. last .. before
        k.earlier = match(before, EARLIER) or before
      end
    end
  end
end

-- 1. The operations.
if operations > 0 then
  for i, value in ipairs(mget(ITEMS, ARGV, opIDs + 1, opIDs + operations)) do items[ARGV[opIDs + i]] = value end
end
local answers, op, wanted = {}, 0, 0
for r = 1, requests do
  local at = request + 7 * (r - 1)
  local a = {
    known = known[tonumber(ARGV[at + 1])], max = tonumber(ARGV[at + 3]), lease = tonumber(ARGV[at + 4]), worker = ARGV[at + 5],
    outcomes = '', dues = '', leased = {}, values = {}, final = ARGV[at + 7] == '1',
  }
  answers[r] = a
  local count, by = tonumber(ARGV[at + 2]), ARGV[at + 6]
  local before = a.known.rows and table.remove(a.known.rows, 1)
  if a.known.over then before = '*;;' end
  if before then
    a.outcomes, a.dues, a.before = match(before, '^([^;]*);([^;]*);(.*)$')
    for i = op + 1, op + count do
      if string.byte(kinds, i) ~= 97 then w.argument = w.argument + 1 end
    end
    op = op + count
    if a.before ~= '' or a.known.over then a.max = 0 end -- it has its items, or there will be none
  elseif count > 0 then
    local outcomes, dues = {}, {}
    for i = 1, count do
      op = op + 1
      local id, attempt = ARGV[opIDs + op], ARGV[attempts + op]
      local it = items[id]
      if string.byte(kinds, op) == 97 and type(it) ~= 'table' then
        local held, n, counts, seq, assignee, bucket
        if it then held, n, counts, seq, assignee, bucket = match(it, '^l (%d+) (%d+) %d+ %S+ (%d+ %d+) (%d+) (%S+) (%S+)') end
        if held == attempt then
          outcomes[i] = 'd'
          items[id] = false
          gone[#gone + 1] = id
          if string.byte(bucket) == 117 then
            freed[#freed + 1] = bucket
            freed[#freed + 1] = id
          end
          if recording then
            moves = moves + 1
            lines[moves] = seq .. ' ' .. up(n) .. ' l d ' .. held .. ' ' .. counts .. ' 0 ' .. assignee .. ' ' .. by .. ' -'
          end
        else
          outcomes[i] = (it or attempt ~= '0') and 'L' or 'N'
        end
      else
        w.moves = moves
        local ends
        outcomes[i], ends = others.act(string.sub(kinds, op, op), id, attempt, by)
        moves = w.moves
        if ends and ends ~= '0' then dues[#dues + 1] = ends end
      end
    end
    a.outcomes, a.dues = table.concat(outcomes), table.concat(dues, ' ')
  end
  wanted = wanted + a.max
end
local done = #gone
if others then
  -- 2. What is due.
  w.moves = moves
  others.settle()
  if w.due > 0 and now >= w.due then others.pass() end
  moves, due = w.moves, w.due
elseif #gone > 0 then
  finish(gone, {}, freed)
end

-- 3. The leases.
local sets, leases, answerAt, bytes = {}, {}, 1, 0

-- share leases items to the requests from number answerAt on, in their order. It returns how many were ready.
local function share(ids)
  local got, k = 0, #sets
  local a = answers[answerAt]
  local values = mget(ITEMS, ids, 1, #ids)
  for i = 1, #ids do
    while a.max == 0 do
      answerAt = answerAt + 1
      a = answers[answerAt]
    end
    local id, value = ids[i], values[i]
    local attempt, n, counts, seq, assignee, at = match(value or '', '^r (%d+) (%d+) %d+ %S+ (%d+ %d+) (%d+) (%S+)()')
    if attempt then
      attempt, n = up(attempt), up(n)
      local rest = string.sub(value, at)
      if assignee ~= '-' then rest = gsub(rest, ' %d+\n', ' 0\n', 1) end -- it has no place any more
      value = 'l ' .. attempt .. ' ' .. n .. ' ' .. a.ends .. ' ' .. a.worker .. ' ' .. counts .. ' ' .. seq .. ' ' .. assignee .. rest
      sets[k + 1], sets[k + 2] = id, value
      bytes = bytes + #value
      leases[k + 1], leases[k + 2] = a.ends, id
      k = k + 2
      local v, l = a.values, a.leased
      local m = #v
      v[m + 1], v[m + 2] = id, value
      l[m + 1], l[m + 2] = id, attempt
      if recording then
        moves = moves + 1
        lines[moves] = seq .. ' ' .. n .. ' r l ' .. attempt .. ' ' .. counts .. ' ' .. a.ends .. ' ' .. assignee .. ' ' .. a.worker .. ' -'
      end
      got = got + 1
      a.max = a.max - 1
    end
  end
  return got
end

local full = false
if wanted > 0 and meta[2] ~= '1' then
  for r = 1, requests do
    local a = answers[r]
    a.ends = text(now + a.lease)
  end
  if rcall('EXISTS', ASSIGNED) == 0 then
    repeat
      local popped = rcall('LMPOP', 5, KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], 'LEFT', 'COUNT', math.min(wanted, PART))
      if popped then wanted = wanted - share(popped[2]) end
    until wanted == 0 or not popped or bytes >= MOST_BYTES
  else
    -- Each worker gets its own first in each level.
    for r = 1, requests do
      local a, empty = answers[r], false
      answerAt = r
      while a.max > 0 and not empty and bytes < MOST_BYTES do
        local own = rcall('ZRANGEBYLEX', ASSIGNED, '[' .. a.worker .. ' ', '(' .. a.worker .. '!', 'LIMIT', 0, math.min(a.max, PART))
        local ids, taken, room = {}, {}, math.min(a.max, PART)
        for level = 0, 4 do
          local head = a.worker .. ' ' .. level .. ' '
          while room > 0 and own[#taken + 1] and string.sub(own[#taken + 1], 1, #head) == head do
            taken[#taken + 1] = own[#taken + 1]
            ids[#ids + 1] = match(own[#taken], '(%S+)$')
            room = room - 1
          end
          for _, id in ipairs(room > 0 and rcall('LPOP', readyKey(5 - level), room) or {}) do
            ids[#ids + 1] = id
            room = room - 1
          end
        end
        each('ZREM', ASSIGNED, taken)
        wanted = wanted - share(ids)
        empty = #ids == 0
      end
    end
  end
  full = wanted == 0 or bytes >= MOST_BYTES
  for r = 1, requests do
    local a = answers[r]
    if #a.leased > 0 and (due == 0 or now + a.lease < due) then due = now + a.lease end
  end
  each('HSET', ITEMS, sets)
  each('ZADD', LEASED, leases)
end

-- 4. What is remembered of it: the answers, and the moves.
for r = 1, requests do
  local a = answers[r]
  local k, given = a.known, a.before
  if not given or given == '' then
    given = table.concat(a.leased, ' ')
    if given == '' and a.final then given = '-' end
    if given ~= '' then k.changed = true end
  end
  k.answer = k.answer .. a.outcomes .. ';' .. a.dues .. ';' .. given .. '\n'
end
for p = 1, records do
  local k = known[p]
  if not k.over and (k.changed or not k.rows) then
    rcall('SET', KEYS[16 + p], ARGV[1] .. ' ' .. k.id .. k.earlier .. '\n' .. k.answer, 'PX', ARGV[10 + 2 * p])
  end
end
if moves > 1 then
  lines[1] = text(now) .. ' ' .. node .. ' ' .. text(moved)
  rcall('RPUSH', OUTBOX, table.concat(lines, '\n'))
  rcall('HSET', META, 'out', text(out + 1), 'moved', text(moved + moves - 1), 'due', text(due))
elseif due ~= tonumber(meta[3] or 0) then
  rcall('HSET', META, 'due', text(due))
end
tally(now, 0, w and done + w.done or done, w and w.failed or 0, w and w.dead or 0)

local left = 0
if full or w and w.filled then left = rcall('EXISTS', KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]) > 0 and 1 or 0 end
if w then
  if w.hint or (w.filled and left == 1) then rcall('PUBLISH', ARGV[3], ARGV[4]) end
  for who in pairs(w.told) do rcall('PUBLISH', ARGV[3], ARGV[4] .. ' ' .. who) end
end
local reply = { meta[2] ~= '1' and left or 0, due == 0 and -1 or math.max(due - now, 0) }
local k = 2
for r = 1, requests do
  local a = answers[r]
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
  local n = #values
  reply[k + 1], reply[k + 2], reply[k + 3] = a.outcomes, a.dues, a.before == '-' and -1 or n / 2
  k = k + 3
  for i = 1, n do reply[k + i] = values[i] end
  k = k + n
end
return reply
