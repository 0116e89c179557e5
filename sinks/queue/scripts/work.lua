-- The part of a step that is more than acks and leases: the other operations, and items that become due. Go appends the
-- text of step.lua to this text. step.lua calls worker() only when it needs the functions, because to create all of
-- them costs more than an ordinary step.
--
-- w is the state of a step:
--   now, nowText, recording, argument   as step.lua has them
--   due               the new value of meta.due
--   items             id → value, false = there is none, or the table that open made of a value
--   lines, moves      the entry of the outbox and how many lines it has
--   gone              ids of items that have ended
--   unleased          by warehouse: ids of items whose leases have ended
--   freed             buckets and ids, in turn, of items that give up their dedupe keys
--   counts            by warehouse: items done, failed attempts, items that died
--   filled            warehouses with a ready list that was empty before
--   soon              true if an item will be due soon
--   told              "warehouse worker" of workers that got assigned items

-- add appends one or two values to one of several lists.
local function add(lists, name, a, b)
  local list = lists[name]
  if not list then
    list = {}
    lists[name] = list
  end
  list[#list + 1] = a
  list[#list + 1] = b
end

-- counted returns the counts of a warehouse: items done, failed attempts, items that died.
local function counted(counts, warehouse)
  local c = counts[warehouse]
  if not c then
    c = { done = 0, failed = 0, dead = 0 }
    counts[warehouse] = c
  end
  return c
end

-- finish removes from Redis the items that have ended, their payloads, and the leases that have ended. It also removes
-- the dedupe key of an item in freed, unless another item holds the key.
local function finish(gone, unleased, freed)
  local news = next(unleased) and rcall('EXISTS', NEWS) == 1
  for warehouse, ids in pairs(unleased) do
    each('ZREM', setKey(LEASED, warehouse), ids)
    if news then each('HDEL', NEWS, ids) end
  end
  each('HDEL', ITEMS, gone)
  if #gone > 0 and rcall('EXISTS', PAYLOADS) == 1 then each('HDEL', PAYLOADS, gone) end
  if #freed > 0 then
    local buckets, mine, timed = {}, {}, {}
    for i = 1, #freed, 2 do buckets[#buckets + 1] = freed[i] end
    for i, entry in ipairs(mget(DEDUPE, buckets, 1, #buckets)) do
      if entry and match(entry, ' (.+)$') == freed[2 * i] then
        mine[#mine + 1] = buckets[i]
        if string.byte(buckets[i]) ~= UNTIL_ENDED then timed[#timed + 1] = buckets[i] end
      end
    end
    each('HDEL', DEDUPE, mine)
    each('ZREM', WINDOWS, timed)
  end
end

local function worker(w)
  -- The operations, as step.go writes them. An ack with a note has a letter of its own.
  local ACK, NOTED_ACK, NACK, RELEASE, EXTEND, SUSPEND, STORE = 'a', 'A', 'n', 'r', 'e', 's', 't'
  local FINISH, ASSIGN, REMOVE, REQUEUE, SET = 'f', 'g', 'm', 'q', 'v'
  -- The faults of an operation, as step.go reads them. Any other letter is the new state of the item.
  local LEASE_LOST, NOT_FOUND, IS_LEASED, SUSPEND_LIMIT, NOT_DEAD, IS_DEAD = 'L', 'N', 'H', 'S', 'D', 'X'
  local touched = {} -- the tables that open has made
  local fresh = {} -- items that became ready and have no place yet, in order

  -- open makes a table of an item's value. It returns false if there is no item.
  local function open(id)
    local it = w.items[id]
    if type(it) ~= 'string' then return it end
    local state, attempt, n, at, who, failures, suspends, seq, assignee, warehouse, bucket, priority, ready, created, order, place,
      news, payload = match(it, '^(%a) (%d+) (%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%S+) (%S+) (%S+) (%d) (%d+) (%d+) (%S+) (%d+)( ?%+?)\n()')
    if not state then return false end
    it = {
      id = id, value = it, payload = payload, state = state, attempt = attempt, moves = n, due = at, worker = who,
      failures = failures, suspends = suspends, seq = seq, assignee = assignee, warehouse = warehouse, bucket = bucket,
      priority = priority, ready = ready, created = created, order = order, place = place, news = news,
    }
    if state == READY then it.home = { assignee = assignee, priority = priority, order = order, place = place } else it.home = {} end
    it.home.state = state -- the state in Redis
    w.items[id] = it
    touched[#touched + 1] = it
    return it
  end

  -- trace records a move of an item to a state. A revision begins with a space.
  local function trace(it, to, at, by, note, revision)
    it.moves, it.changed = text(it.moves + 1), true
    if not w.recording then return end
    w.moves = w.moves + 1
    w.lines[w.moves] = it.seq .. ' ' .. it.moves .. ' ' .. it.state .. ' ' .. to .. ' ' .. it.attempt .. ' ' .. it.failures
      .. ' ' .. it.suspends .. ' ' .. at .. ' ' .. it.assignee .. ' ' .. by .. ' ' .. note .. revision
  end

  -- revise changes an item's priority, order and payload, and returns the revision. set is "priority order source
  -- apart", newline, payload.
  local function revise(it, set)
    local priority, order, source, apart, from = match(set, '^(%d) (%S+) (%d+) (%S)\n()')
    if priority ~= '0' then it.priority = priority end
    if order ~= '=' then it.order = order end
    if source ~= '0' then
      local payload = string.sub(set, from)
      if apart == '@' then
        rcall('HSET', PAYLOADS, it.id, payload)
        payload = text(#payload) .. '@'
      elseif byte(it.body or it.value, -1) == MARK then
        rcall('HDEL', PAYLOADS, it.id)
      end
      it.body = payload
    end
    return ' =' .. it.priority .. ',' .. it.order .. ',' .. source
  end

  -- moveTo changes the state of an item, and records the move. If the item has news and does not end, it takes the news
  -- over.
  local function moveTo(it, to, at, by, note)
    local revision = ''
    if it.news ~= '' and to ~= DONE and to ~= REMOVED then
      local what = rcall('HGET', NEWS, it.id)
      if what then revision = revise(it, what) end
    end
    trace(it, to, at, by, note, revision)
    it.state, it.due, it.worker, it.at, it.news = to, at, '-', nil, ''
  end

  -- set revises a waiting item, which keeps its place. For a leased item, a change with a payload becomes its
  -- news. It returns false if the item is leased and the change has no payload.
  local function set(it, by, note, what)
    if it.state == LEASED then
      local priority, order, source = match(what, '^(%d) (%S+) (%d+)')
      if source == '0' then return false end
      rcall('HSET', NEWS, it.id, what)
      it.news = ' +'
      if priority == '0' then priority = it.priority end
      if order == '=' then order = it.order end
      trace(it, it.state, it.due, by, note, ' +' .. priority .. ',' .. order .. ',' .. source)
      return true
    end
    if it.state == READY and it.place == '0' and not it.at then -- only the ready list has its place
      it.place = text(rcall('ZSCORE', readyKey(it.home.priority, it.warehouse), it.id) + 0)
    end
    trace(it, it.state, it.due, by, note, revise(it, what))
    return true
  end

  -- putBack makes an item ready again at its old place.
  local function putBack(it, by, note) moveTo(it, READY, '0', by, note) end

  -- putLast makes an item ready, at a place behind all others.
  local function putLast(it, by, note)
    moveTo(it, READY, '0', by, note)
    it.ready = w.nowText
    fresh[#fresh + 1] = it
    it.at = #fresh
  end

  -- fail ends an attempt: the item dies, or waits for "delay", or the function put makes it ready again.
  local function fail(it, put, delay, by, note)
    it.failures = text(it.failures + 1)
    local c = counted(w.counts, it.warehouse)
    c.failed = c.failed + 1
    local most = tonumber(ARGV[6])
    if most > 0 and tonumber(it.failures) >= most then
      c.dead = c.dead + 1
      moveTo(it, DEAD, w.nowText, by, note)
    elseif delay > 0 then
      moveTo(it, DELAYED, text(w.now + delay), by, note)
    else
      put(it, by, note)
    end
  end

  -- suspend suspends an item for the next step. It returns false if all steps are used up.
  local function suspend(it, by, note)
    local steps = {}
    for step in string.gmatch(ARGV[7], '%d+') do steps[#steps + 1] = step end
    local step = steps[it.suspends + 1]
    if not step then return false end
    it.suspends = text(it.suspends + 1)
    moveTo(it, SUSPENDED, text(w.now + step), by, note)
    return true
  end

  local function assign(it, who, by, note)
    local before = it.assignee
    it.assignee = who
    if it.state == LEASED then
      putBack(it, by, note) -- the worker passes the item on, which is no failure
    elseif before == who then
      return
    elseif it.state == READY then
      putLast(it, by, note)
    else
      moveTo(it, it.state, it.due, by, note)
    end
  end

  -- act applies one operation of a request, with its argument. It returns the outcome, and the item's due time. An item
  -- outside the caller's scope counts as missing, and an attempt of another subject as over.
  local function act(a, kind, id, attempt, by)
    local delay, who, force, note, what = 0, '-', '0', '-', nil
    if kind ~= ACK then
      w.argument = w.argument + 1
      delay, who, force, note, what = match(ARGV[w.argument], '^(%d+) (%S+) (%d) (%S+) ?(.*)$')
      delay = tonumber(delay)
    end
    local it = open(id)
    if not it or it.state == DONE or it.state == REMOVED or a.sees and not a.sees[it.warehouse] then return attempt == '0' and NOT_FOUND or LEASE_LOST end
    if attempt ~= '0' then
      if it.state ~= LEASED or it.attempt ~= attempt or not a.holds(it.worker) then return LEASE_LOST end
    elseif it.state == LEASED and force ~= '1' then
      return IS_LEASED
    end
    if kind == REMOVE and what ~= '' and what ~= it.seq then return NOT_FOUND end
    if kind == REQUEUE and it.state ~= DEAD then return NOT_DEAD end
    if it.state == DEAD and kind ~= REQUEUE and kind ~= REMOVE and kind ~= SET then return IS_DEAD end

    if kind == ACK or kind == NOTED_ACK or kind == FINISH then
      local c = counted(w.counts, it.warehouse)
      c.done = c.done + 1
      moveTo(it, DONE, '0', by, note)
    elseif kind == REMOVE then
      moveTo(it, REMOVED, '0', by, note)
    elseif kind == NACK then
      fail(it, putLast, delay, by, note)
    elseif kind == RELEASE then
      putBack(it, by, note)
    elseif kind == EXTEND then
      it.due, it.changed = text(w.now + delay), true
    elseif kind == SUSPEND then
      if not suspend(it, by, note) then return SUSPEND_LIMIT end
    elseif kind == STORE then
      it.suspends = '0'
      moveTo(it, STORED, text(w.now + delay), by, note)
    elseif kind == REQUEUE then
      it.failures = '0'
      putLast(it, by, note)
    elseif kind == ASSIGN then
      assign(it, who, by, note)
    elseif kind == SET then
      if not set(it, by, note, what) then return IS_LEASED end
    end
    return it.state, it.due
  end

  -- withdraw collects where an item must be removed: ready lists by level and source, other sets by key.
  local function withdraw(it, lists, sets)
    local home = it.home
    if home.state == LEASED then
      if it.state ~= LEASED then add(w.unleased, it.warehouse, it.id) end
    elseif home.state ~= READY then
      if it.state ~= home.state then add(sets, setKey(home.state, it.warehouse), it.id) end
    elseif home.assignee == '-' then
      local source, name = listed(it.warehouse, home.order, home.place, it.id)
      add(lists, home.priority .. ' ' .. source, name)
    else
      local own = member(home.assignee, home.priority, home.order, home.place, it.id)
      add(sets, ASSIGNED, own)
      add(sets, assignedKey(it.warehouse), own)
    end
  end

  -- arrive collects where a ready item is added: to a ready list, or to the assigned items.
  local function arrive(it, put, sets)
    if it.assignee == '-' then
      local source, name, score = listed(it.warehouse, it.order, it.place, it.id)
      put(it.priority, source, name, score)
      return
    end
    local own = member(it.assignee, it.priority, it.order, it.place, it.id)
    add(sets, ASSIGNED, '0', own)
    add(sets, assignedKey(it.warehouse), '0', own)
    w.told[it.warehouse .. ' ' .. it.assignee] = true
  end

  -- wait collects the set to which an item with a time is added.
  local function wait(it, sets, waits)
    add(sets, setKey(it.state, it.warehouse), it.due, it.id)
    if it.state ~= LEASED then it.place = '0' end
    if it.state == DEAD then return end
    local at, name = tonumber(it.due), it.state .. ' ' .. it.warehouse
    if not waits[name] or at < waits[name] then waits[name] = at end
    if w.due == 0 or at < w.due then
      w.due = at
      if it.state ~= LEASED and at - w.now < SOON then w.soon = true end
    end
  end

  -- settle writes the changes of open and act, and of acks.
  local function settle()
    local values, out, into, from, waits = {}, {}, {}, {}, {} -- items, ready lists to be left, sets to be entered and left, when they are due
    local put, enter = readyLists()
    if #fresh > 0 then
      local last = tonumber(rcall('HGET', META, 'last') or 0)
      for i, it in ipairs(fresh) do
        if it.at == i then -- it was not moved again since
          last = math.max(last + 1, w.now)
          it.place = text(last)
        end
      end
      rcall('HSET', META, 'last', text(last))
    end
    for _, it in ipairs(touched) do
      if it.changed then withdraw(it, out, from) end
      if it.state == DONE or it.state == REMOVED then
        w.gone[#w.gone + 1] = it.id
        if it.bucket ~= '-' and (it.state == REMOVED or string.byte(it.bucket) == UNTIL_ENDED) then
          w.freed[#w.freed + 1] = it.bucket
          w.freed[#w.freed + 1] = it.id
        end
      elseif it.changed then
        if it.state == READY then arrive(it, put, into) else wait(it, into, waits) end
        values[#values + 1] = it.id
        values[#values + 1] = it.state .. ' ' .. it.attempt .. ' ' .. it.moves .. ' ' .. it.due .. ' ' .. it.worker .. ' '
          .. it.failures .. ' ' .. it.suspends .. ' ' .. it.seq .. ' ' .. it.assignee .. ' ' .. it.warehouse .. ' ' .. it.bucket
          .. ' ' .. it.priority .. ' ' .. it.ready .. ' ' .. it.created .. ' ' .. it.order .. ' ' .. it.place .. it.news .. '\n'
          .. (it.body or string.sub(it.value, it.payload))
      end
    end

    each('HSET', ITEMS, values)
    for key, ids in pairs(from) do each('ZREM', key, ids) end
    for name, members in pairs(out) do
      local level, source = string.sub(name, 1, 1), string.sub(name, 3)
      each('ZREM', readyKey(level, source), members)
      forget(level, source, members)
    end
    for key, list in pairs(into) do each('ZADD', key, list) end
    for name, at in pairs(waits) do rcall('ZADD', WAITS, 'LT', text(at), name) end
    enter(w.filled)
    finish(w.gone, w.unleased, w.freed)
    touched, fresh, w.items, w.gone, w.unleased, w.freed = {}, {}, {}, {}, {}, {}
  end

  -- take reads due items from the sets of one kind, in the order of their times. It returns the items, and how many ids
  -- it has read. An id whose item is not in that state and warehouse is removed from the set.
  local function take(letter, warehouses, most)
    local ids, homes = {}, {} -- homes: the warehouses of the ids
    if #warehouses == 1 then
      ids = rcall('ZRANGEBYSCORE', setKey(letter, warehouses[1]), '-inf', w.nowText, 'LIMIT', 0, most)
    else
      -- Only a part of each set is read. If a part is full, items that are due after its last item must wait: the same
      -- set may have more items that are due before them.
      local part, all, over = math.ceil(most / #warehouses), {}, w.now
      for _, warehouse in ipairs(warehouses) do
        local some = rcall('ZRANGEBYSCORE', setKey(letter, warehouse), '-inf', w.nowText, 'WITHSCORES', 'LIMIT', 0, part)
        for i = 1, #some, 2 do all[#all + 1] = { id = some[i], at = some[i + 1] + 0, warehouse = warehouse } end
        if #some == 2 * part then over = math.min(over, some[#some] + 0) end
      end
      table.sort(all, function(a, b)
        if a.at ~= b.at then return a.at < b.at end
        if a.warehouse ~= b.warehouse then return a.warehouse < b.warehouse end
        return a.id < b.id
      end)
      for i, one in ipairs(all) do
        if one.at > over then break end
        ids[i], homes[i] = one.id, one.warehouse
      end
    end
    local found, astray = {}, {}
    for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do
      local id, home = ids[i], homes[i] or warehouses[1]
      w.items[id] = value
      local it = open(id)
      if it and it.state == letter and it.warehouse == home then
        found[#found + 1] = it
      else
        add(astray, setKey(letter, home), id)
      end
    end
    for key, list in pairs(astray) do each('ZREM', key, list) end
    return found, #ids
  end

  -- pass ends leases that are over, and makes due items ready.
  local function pass()
    local due, names = { l = {}, y = {}, s = {}, t = {} }, rcall('ZRANGEBYSCORE', WAITS, '-inf', w.nowText, 'LIMIT', 0, CHUNK)
    for _, name in ipairs(names) do
      local list = due[string.sub(name, 1, 1)]
      list[#list + 1] = string.sub(name, 3)
    end
    if #due.l > 0 then
      for _, it in ipairs(take('l', due.l, CHUNK)) do fail(it, putBack, 0, '-', 'the+lease+ran+out') end
      settle()
    end
    local left = CHUNK
    for _, letter in ipairs({ 'y', 's', 't' }) do
      if left > 0 and #due[letter] > 0 then
        local found, count = take(letter, due[letter], left)
        for _, it in ipairs(found) do putLast(it, '-', '-') end
        left = left - count
      end
    end
    settle()
    for _, name in ipairs(names) do
      local head = rcall('ZRANGE', setKey(string.sub(name, 1, 1), string.sub(name, 3)), 0, 0, 'WITHSCORES')
      if head[2] then
        rcall('ZADD', WAITS, text(head[2] + 0), name)
      else
        rcall('ZREM', WAITS, name)
      end
    end
    local first = rcall('ZRANGE', WAITS, 0, 0, 'WITHSCORES')
    w.due = first[2] and first[2] + 0 or 0
  end

  return { act = act, settle = settle, pass = pass }
end
