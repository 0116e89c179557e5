-- One round of work for several callers: applies their operations, ends leases that are over, makes due items ready,
-- and leases items. Payloads that are kept apart are read only for callers that lease the items.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
--     11 … 10+p   string  records: the last answer to each caller, so that a repeated call does nothing twice. A record
--                         is "epoch id", the ids before that one, then a line "outcomes;dues;id attempt id attempt …"
--                         for each of its requests; - for the items says that there will be none
-- ARGV 3 channel for hints, 4 the hint
--      5 node, as the outbox names it; empty = nothing is recorded
--      6 failures after which an item is dead; 0 = never
--      7 how long the first, second … suspend lasts: µs, separated by spaces
--      8 how many moves may wait in the outbox
--      9 r, the number of requests; 0 = only end leases and make due items ready, 10 n, the number of operations
--      then p × (id, ttl in ms) of the records. A request id may end in # and a hash of the operations: the same id
--           with another hash is another request
--      then r × (number of its record 1 … p, how many of the operations are its own, max, lease in µs, worker, by,
--           1 = the answer is complete even without items, 0 = a repeat may get items,
--           the warehouses of its scope, separated by spaces, * = all, the names whose assigned items the worker gets,
--           the holder whose attempts the request may name: a worker, or a subject with / behind it; - = any,
--           the operator's order that the request carries out (order.go), escaped as in a URL's query; - = none)
--      then kinds, n letters: a ack, n nack, r release, e extend, s suspend, t store, f finish, g assign, m remove,
--           q requeue, v set; A is an ack with an argument. All but a have an argument
--      then n × id, n × attempt
--      then the arguments of the operations: "delay worker force note". For set, " priority order source apart"
--           follows, a newline and the payload: see value.go; 0 and = leave the value as it is. For remove, " seq" may
--           follow: only the item with this number is removed
-- Result: µs until the next item is due, -1 = never;
--         then for each request: its outcomes, a letter each: the new state of the item, or L lease_lost, N
--         item_not_found, H item_leased, S suspend_limit, D item_not_dead, X item_dead; * alone: the id belongs to an
--         earlier request, so this call came late or twice, and nothing was done;
--         the due times of the items that have one, separated by spaces; k, then k × (id, value) of leased items;
--         k is -1 if an earlier answer said that there are none.
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

evenIfFull()

local FIELDS = 11 -- arguments of a request
local now = clock()
local requests, operations = tonumber(ARGV[9]), tonumber(ARGV[10])
local records = #KEYS - DECLARED
local request = 10 + 2 * records -- before the first request's arguments
local opIDs = request + FIELDS * requests + 1
local attempts = opIDs + operations
local kinds = ARGV[opIDs]
local items, gone, unleased, freed, counts = {}, {}, {}, {}, {} -- see work.lua
local filled, told = {}, {}
local lines, moves, due = { '' }, 1, tonumber(meta[3] or 0)

-- Steps with more than acks and leases need a table of their state, and the functions of work.lua.
local w, others
if string.find(kinds, '[^a]') or (due > 0 and now >= due) then
  w = {
    now = now, nowText = text(now), recording = recording, argument = attempts + operations, due = due, lines = lines, moves = 1,
    items = items, gone = gone, unleased = unleased, freed = freed, counts = counts, filled = filled, soon = false, told = told,
  }
  others = worker(w)
end

-- up adds 1 to a number that is a text. It keeps its results, because a batch has few different numbers.
local incremented = {}
local function up(n)
  local next = incremented[n]
  if not next then
    next = text(n + 1)
    incremented[n] = next
  end
  return next
end

-- A repeated call gets the same answer again. An old copy of an earlier call may arrive late, after its caller was
-- answered. The copy would lease items for nobody and overwrite the last answer. So the records also have the ids
-- before the last id. Calls of a process are named "name/number", and lower numbers are earlier.
local EARLIER = '^ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+'
local known = {}
for p = 1, records do
  local id = ARGV[9 + 2 * p]
  local k = { id = id, earlier = '', over = false, rows = false, answer = '', changed = false }
  known[p] = k
  local record = rcall('GET', KEYS[DECLARED + p])
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

-- seen returns the warehouses of a scope as a set, false = all. Most requests of a call have the same scope.
local scopes = { ['*'] = false }
local function seen(scope)
  local set = scopes[scope]
  if set == nil then
    set = {}
    for _, warehouse in ipairs(split(scope)) do set[warehouse] = true end
    scopes[scope] = set
  end
  return set
end

-- holder returns a function that tells whether the caller may name the attempts of a worker.
local function holder(own)
  if own == '-' then return function() return true end end
  if string.sub(own, -1) ~= '/' then return function(who) return who == own end end
  local subject = string.sub(own, 1, -2)
  return function(who) return who == subject or string.sub(who, 1, #own) == own end
end

local answers, op, wanted = {}, 0, 0
for r = 1, requests do
  local at = request + FIELDS * (r - 1)
  local a = {
    known = known[tonumber(ARGV[at + 1])], max = tonumber(ARGV[at + 3]), lease = tonumber(ARGV[at + 4]), worker = ARGV[at + 5],
    outcomes = '', dues = '', leased = {}, values = {}, final = ARGV[at + 7] == '1', scope = ARGV[at + 8], sees = seen(ARGV[at + 8]),
    names = ARGV[at + 9],
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
    if a.before ~= '' or a.known.over then a.max = 0 end -- it has its items already, or there will be none
  elseif count > 0 then
    local outcomes, dues, anybody = {}, {}, ARGV[at + 10] == '-'
    a.holds = holder(ARGV[at + 10])
    for i = 1, count do
      op = op + 1
      local id, attempt = ARGV[opIDs + op], ARGV[attempts + op]
      local it = items[id]
      if string.byte(kinds, op) == 97 and type(it) ~= 'table' then
        local held, n, who, failed, seq, assignee, of, bucket
        if it then held, n, who, failed, seq, assignee, of, bucket = match(it, '^l (%d+) (%d+) %d+ (%S+) (%d+ %d+) (%d+) (%S+) (%S+) (%S+)') end
        if held == attempt and (anybody or a.holds(who)) and (not a.sees or a.sees[of]) then
          outcomes[i] = DONE
          items[id] = false
          gone[#gone + 1] = id
          local list, c = unleased[of], counts[of]
          if not list then
            list = {}
            unleased[of] = list
          end
          list[#list + 1] = id
          if not c then c = counted(counts, of) end
          c.done = c.done + 1
          if string.byte(bucket) == UNTIL_ENDED then
            freed[#freed + 1] = bucket
            freed[#freed + 1] = id
          end
          if recording then
            moves = moves + 1
            lines[moves] = seq .. ' ' .. up(n) .. ' l d ' --[[ leased, done ]] .. held .. ' ' .. failed .. ' 0 ' .. assignee .. ' ' .. by .. ' -'
          end
        else
          outcomes[i] = (it or attempt ~= '0') and 'L' or 'N' -- L lease lost, N no such item: as in work.lua
        end
      else
        w.moves = moves
        local ends
        outcomes[i], ends = others.act(a, string.sub(kinds, op, op), id, attempt, by)
        moves = w.moves
        if ends and ends ~= '0' then dues[#dues + 1] = ends end
      end
    end
    a.outcomes, a.dues = table.concat(outcomes), table.concat(dues, ' ')
    if recording and ARGV[at + 11] ~= '-' then
      -- An operator's order is recorded only if at least one finish, assign, remove, requeue or set has succeeded.
      local ordered = false
      for i = 1, count do
        ordered = ordered or string.find(string.sub(kinds, op - count + i, op - count + i), '[fgmqv]') and string.find(outcomes[i], '%l')
      end
      if ordered then
        moves = moves + 1
        lines[moves] = '! ' .. ARGV[at + 11] .. ' ' .. a.outcomes
      end
    end
  end
  wanted = wanted + a.max
end
if others then
  -- 2. Due items and leases that are over.
  w.moves = moves
  others.settle()
  if w.due > 0 and now >= w.due then others.pass() end
  moves, due = w.moves, w.due
elseif #gone > 0 then
  finish(gone, unleased, freed)
end

-- 3. The leases.
local sets, leases, answerAt, bytes = {}, {}, 1, 0 -- leases: arguments of ZADD by warehouse

-- share leases the members (of ready lists, or of assigned) to the requests, in order, from request number answerAt on.
-- It returns how many items it has leased. An item whose payload is gone is removed: the sweeper then finds that the
-- item is missing, and puts it back from the ledger.
local function share(members, scores)
  local got, k, ids = 0, #sets, members
  if scores.named then -- members that are more than ids
    ids = {}
    for i, name in ipairs(members) do ids[i] = match(name, '%S+$') end
  end
  local a = answers[answerAt]
  local values = mget(ITEMS, ids, 1, #ids)
  local payloads, lost = payloadsOf(ids, values)
  each('HDEL', ITEMS, lost)
  for i = 1, #ids do
    while a.max == 0 do
      answerAt = answerAt + 1
      a = answers[answerAt]
    end
    local id, value = ids[i], values[i]
    local attempt, n, failed, seq, assignee, of, rest, place, at =
      match(value or '', '^r (%d+) (%d+) %d+ %S+ (%d+ %d+) (%d+) (%S+) (%S+)( %S+ %d %d+ %d+ %S+) (%d+)()\n')
    if attempt then
      attempt, n = up(attempt), up(n)
      if place == '0' then place = text(scores[i] + 0) end -- only the ready list has its place
      value = 'l ' .. attempt .. ' ' .. n .. ' ' .. a.ends .. ' ' .. a.worker .. ' ' .. failed .. ' ' .. seq .. ' ' .. assignee .. ' '
        .. of .. rest .. ' ' .. place .. string.sub(value, at)
      sets[k + 1], sets[k + 2] = id, value
      k = k + 2
      if payloads[i] then value = whole(value, payloads[i]) end
      bytes = bytes + #value
      local list = leases[of]
      if not list then
        list = { ends = now + a.lease }
        leases[of] = list
      end
      local l = #list
      list[l + 1], list[l + 2] = a.ends, id
      if now + a.lease < list.ends then list.ends = now + a.lease end
      local v, m = a.values, #a.values
      v[m + 1], v[m + 2] = id, value
      l, m = a.leased, #a.leased
      l[m + 1], l[m + 2] = id, attempt
      if recording then
        moves = moves + 1
        lines[moves] = seq .. ' ' .. n .. ' r l ' --[[ ready, leased ]] .. attempt .. ' ' .. failed .. ' ' .. a.ends .. ' ' .. assignee .. ' ' .. a.worker .. ' -'
      end
      got = got + 1
      a.max = a.max - 1
    end
  end
  return got
end

-- part limits how many items one round leases, because their bytes are counted only afterwards. The limit is the number
-- of items that fit if each has the largest size.
local function part(most) return math.min(most, math.max(math.floor((MOST_BYTES - bytes) / LARGEST), 1)) end

-- own reads the items assigned to a worker, at most "most" of each list, in the order of service: {level, rank,
-- member}.
local function own(a, most)
  local all = {}
  local keys = { ASSIGNED }
  if a.scope ~= '*' then
    keys = {}
    for _, warehouse in ipairs(split(a.scope)) do keys[#keys + 1] = assignedKey(warehouse) end
  end
  for _, name in ipairs(split(a.names)) do
    for _, key in ipairs(keys) do
      for _, m in ipairs(rcall('ZRANGEBYLEX', key, '[' .. name .. ' ', '(' .. name .. '!', 'LIMIT', 0, most)) do
        local level, rank = match(m, ' (%d) (.+)$')
        all[#all + 1] = { level = tonumber(level), rank = rank, member = m }
      end
    end
  end
  table.sort(all, function(x, y)
    if x.level ~= y.level then return x.level < y.level end
    if x.rank ~= y.rank then return x.rank < y.rank end
    return x.member < y.member
  end)
  return all
end

-- disown removes assigned items from the sets of assigned items.
local function disown(taken)
  local members, ids, from = {}, {}, {}
  for i, one in ipairs(taken) do members[i], ids[i] = one.member, match(one.member, '%S+$') end
  each('ZREM', ASSIGNED, members)
  for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do
    local of = match(value or '', '^%a %d+ %d+ %d+ %S+ %d+ %d+ %d+ %S+ (%S+)')
    if of then
      local key = assignedKey(of)
      from[key] = from[key] or {}
      table.insert(from[key], members[i])
    end
  end
  for key, list in pairs(from) do each('ZREM', key, list) end
end

if wanted > 0 and meta[2] ~= '1' then
  for r = 1, requests do
    local a = answers[r]
    a.ends = text(now + a.lease)
  end
  if rcall('EXISTS', ASSIGNED) == 0 then
    -- Consecutive requests with the same scope are served together.
    local r = 1
    while r <= requests and bytes < MOST_BYTES do
      local scope, most = answers[r].scope, 0
      answerAt = r
      while r <= requests and answers[r].scope == scope do
        most, r = most + answers[r].max, r + 1
      end
      local served = most > 0
      while most > 0 and served and bytes < MOST_BYTES do
        served = false
        local room = part(most)
        for level = 5, 1, -1 do
          if room > 0 then
            local members, scores = serve(level, scope, room)
            room = room - #members
            if #members > 0 then
              served, most = true, most - share(members, scores)
            end
          end
        end
      end
    end
  else
    -- In each level a worker first gets its assigned items.
    for r = 1, requests do
      local a, empty = answers[r], false
      answerAt = r
      while a.max > 0 and not empty and bytes < MOST_BYTES do
        local room = part(a.max)
        local mine = own(a, room)
        local members, scores, taken = {}, { named = true }, {}
        for level = 5, 1, -1 do
          while room > 0 and mine[#taken + 1] and mine[#taken + 1].level == 5 - level do
            taken[#taken + 1] = mine[#taken + 1]
            members[#members + 1] = taken[#taken].member
            room = room - 1
          end
          local more, places = {}, {}
          if room > 0 then more, places = serve(level, a.scope, room) end
          for i, name in ipairs(more) do
            members[#members + 1] = name
            scores[#members] = places[i]
            room = room - 1
          end
        end
        disown(taken)
        share(members, scores)
        empty = #members == 0
      end
    end
  end
  each('HSET', ITEMS, sets)
  for warehouse, list in pairs(leases) do
    each('ZADD', setKey(LEASED, warehouse), list)
    rcall('ZADD', WAITS, 'LT', text(list.ends), 'l ' .. warehouse)
    if due == 0 or list.ends < due then due = list.ends end
  end
end

-- 4. Store the answers in the records, and the moves in the outbox.
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
    rcall('SET', KEYS[DECLARED + p], ARGV[1] .. ' ' .. k.id .. k.earlier .. '\n' .. k.answer, 'PX', ARGV[10 + 2 * p])
  end
end
if moves > 1 then
  lines[1] = text(now) .. ' ' .. node .. ' ' .. text(moved)
  rcall('RPUSH', OUTBOX, table.concat(lines, '\n'))
  rcall('HSET', META, 'out', text(out + 1), 'moved', text(moved + moves - 1), 'due', text(due))
elseif due ~= tonumber(meta[3] or 0) then
  rcall('HSET', META, 'due', text(due))
end
for warehouse, c in pairs(counts) do tally(warehouse, now, 0, c.done, c.failed, c.dead) end

if w then
  local names, left = {}, {} -- left: the warehouses that still have ready items
  for warehouse in pairs(filled) do names[#names + 1] = warehouse end
  for level = 5, 1, -1 do
    for _, set in ipairs(#names > 0 and sources(level, table.concat(names, ' '), 0) or {}) do left[gsub(set.source, '/o$', '')] = true end
  end
  wakeUp(left, ARGV[3], ARGV[4])
  if w.soon then rcall('PUBLISH', ARGV[3], ARGV[4]) end
  for who in pairs(told) do rcall('PUBLISH', ARGV[3], ARGV[4] .. ' ' .. who) end
end
local reply = { due == 0 and -1 or math.max(due - now, 0) }
local k = 1
for r = 1, requests do
  local a = answers[r]
  local values = a.values
  if a.before and a.before ~= '' then
    local ids, given, still = {}, {}, {} -- still: the values of the items that the caller still holds
    for id, attempt in string.gmatch(a.before, '(%S+) (%d+)') do
      ids[#ids + 1] = id
      given[#given + 1] = attempt
    end
    for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do
      local attempt, of = match(value or '', '^l (%d+) %d+ %d+ %S+ %d+ %d+ %d+ %S+ (%S+)')
      still[i] = attempt == given[i] and (not a.sees or a.sees[of]) and value
    end
    fill(ids, still)
    for i, value in ipairs(still) do
      if value then
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
