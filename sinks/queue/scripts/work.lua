-- What is more than an ack or a lease: the other operations, and what becomes due. step.lua comes behind this. It is a function
-- because to make all of these functions costs more than an ordinary step.
--
-- w is what a step has in hand:
--   now, nowText, recording, argument   as step.lua has them
--   due               what meta.due is to be
--   items             id → value, false = there is none, or the table that open made of a value
--   lines, moves      the entry of the outbox and how many lines it has
--   gone, unleased    ids of items that have ended, and of those that nobody has any more
--   freed             buckets and ids, in turn, of items that give up their dedupe keys
--   done, failed, dead   how many are done, attempts have failed, and died of it
--   bytes             of the values that pass has read
--   filled, hint, told   a level was empty before; those who wait are to look in any case; workers who have something of their own

-- finish takes away what has ended, and what nobody has any more. A dedupe key goes with its item, unless another has it.
local function finish(gone, unleased, freed)
  each('ZREM', LEASED, unleased)
  if #gone > 0 then
    each('HDEL', ITEMS, gone)
    each('ZREM', LEASED, gone)
  end
  if #freed > 0 then
    local buckets, mine, timed = {}, {}, {}
    for i = 1, #freed, 2 do buckets[#buckets + 1] = freed[i] end
    for i, entry in ipairs(mget(DEDUPE, buckets, 1, #buckets)) do
      if entry and match(entry, ' (.+)$') == freed[2 * i] then
        mine[#mine + 1] = buckets[i]
        if string.byte(buckets[i]) ~= 117 then timed[#timed + 1] = buckets[i] end
      end
    end
    each('HDEL', DEDUPE, mine)
    each('ZREM', WINDOWS, timed)
  end
end

local function worker(w)
  local touched = {} -- the tables
  local heads, tails = {}, {} -- items to be put before or behind the others of their level

  -- open makes a table of a value.
  local function open(id)
    local it = w.items[id]
    if type(it) ~= 'string' then return it end
    local state, attempt, n, at, who, failures, suspends, seq, assignee, bucket, priority, ready, created, place, payload =
      match(it, '^(%a) (%d+) (%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%S+) (%S+) (%d) (%d+) (%d+) (%d+)\n()')
    if not state then return false end
    it = {
      id = id, value = it, payload = payload, state = state, attempt = attempt, moves = n, due = at, worker = who,
      failures = failures, suspends = suspends, seq = seq, assignee = assignee, bucket = bucket, priority = priority,
      ready = ready, created = created, place = place,
      home = state, homeAssignee = assignee, homePlace = place, -- where Redis has it
    }
    w.items[id] = it
    touched[#touched + 1] = it
    return it
  end

  -- moveTo changes the state of an item, and records that.
  local function moveTo(it, to, at, by, note)
    it.moves = text(it.moves + 1)
    if w.recording then
      w.moves = w.moves + 1
      w.lines[w.moves] = it.seq .. ' ' .. it.moves .. ' ' .. it.state .. ' ' .. to .. ' ' .. it.attempt .. ' ' .. it.failures
        .. ' ' .. it.suspends .. ' ' .. at .. ' ' .. it.assignee .. ' ' .. by .. ' ' .. note
    end
    it.state, it.due, it.worker, it.list = to, at, '-', nil
  end

  -- putInto makes an item ready, in heads or tails.
  local function putInto(list, it, by, note)
    moveTo(it, 'r', '0', by, note)
    if list == tails then it.ready = w.nowText end
    list[#list + 1] = it
    it.list, it.at = list, #list
  end

  -- fail ends an attempt: the item goes to the list, or waits for a time, or is dead.
  local function fail(it, list, delay, by, note)
    it.failures = text(it.failures + 1)
    w.failed = w.failed + 1
    if tonumber(it.failures) >= tonumber(ARGV[6]) then
      w.dead = w.dead + 1
      moveTo(it, 'x', w.nowText, by, note)
    elseif delay > 0 then
      moveTo(it, 'y', text(w.now + delay), by, note)
    else
      putInto(list, it, by, note)
    end
  end

  -- suspend is false if every step was used.
  local function suspend(it, by, note)
    local steps = {}
    for step in string.gmatch(ARGV[7], '%d+') do steps[#steps + 1] = step end
    local step = steps[it.suspends + 1]
    if not step then return false end
    it.suspends = text(it.suspends + 1)
    moveTo(it, 's', text(w.now + step), by, note)
    return true
  end

  local function assign(it, who, by, note)
    local before = it.assignee
    it.assignee = who
    if it.state == 'l' then
      putInto(heads, it, by, note) -- who has it passes it on, and has not failed
    elseif before == who then
      return
    elseif it.state == 'r' then
      putInto(tails, it, by, note)
    else
      moveTo(it, it.state, it.due, by, note)
    end
  end

  -- act applies an operation with the argument that belongs to it. It returns the outcome, and the item's due time.
  local function act(kind, id, attempt, by)
    local delay, who, force, note = 0, '-', '0', '-'
    if kind ~= 'a' then
      w.argument = w.argument + 1
      delay, who, force, note = match(ARGV[w.argument], '^(%d+) (%S+) (%d) (%S+)$')
      delay = tonumber(delay)
    end
    local it = open(id)
    if not it or it.state == 'd' or it.state == 'm' then return attempt == '0' and 'N' or 'L' end
    if attempt ~= '0' then
      if it.state ~= 'l' or it.attempt ~= attempt then return 'L' end
    elseif it.state == 'l' and force ~= '1' then
      return 'H'
    end
    if kind == 'q' and it.state ~= 'x' then return 'D' end
    if it.state == 'x' and kind ~= 'q' and kind ~= 'm' then return 'X' end

    if kind == 'a' or kind == 'A' or kind == 'f' then
      w.done = w.done + 1
      moveTo(it, 'd', '0', by, note)
    elseif kind == 'm' then
      moveTo(it, 'm', '0', by, note)
    elseif kind == 'n' then
      fail(it, tails, delay, by, note)
    elseif kind == 'r' then
      putInto(heads, it, by, note)
    elseif kind == 'e' then
      it.due = text(w.now + delay)
    elseif kind == 's' then
      if not suspend(it, by, note) then return 'S' end
    elseif kind == 't' then
      it.suspends = '0'
      moveTo(it, 't', text(w.now + delay), by, note)
    elseif kind == 'q' then
      it.failures = '0'
      putInto(tails, it, by, note)
    elseif kind == 'g' then
      assign(it, who, by, note)
    end
    return it.state, it.due
  end

  -- pull takes ids out of the middle of a level. A few are looked for one by one; for many the list is read once up to the
  -- last of them.
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

  -- put adds values to one of several lists.
  local function put(lists, name, a, b)
    local list = lists[name]
    if not list then
      list = {}
      lists[name] = list
    end
    list[#list + 1] = a
    list[#list + 1] = b
  end

  -- leave collects where an item is to be taken out of: levels of ready lists, zsets.
  local function leave(it, levels, sets)
    if it.home == 'l' then
      if it.state ~= 'l' then w.unleased[#w.unleased + 1] = it.id end
    elseif it.home ~= 'r' then
      if it.state ~= it.home then put(sets, TIMED[it.home], it.id) end
    elseif it.state == 'r' and not it.list then
      return -- it stays where it is
    elseif it.homeAssignee == '-' then
      put(levels, it.priority, it.id)
    else
      put(sets, ASSIGNED, member(it.homeAssignee, it.priority, it.homePlace, it.id))
    end
  end

  -- arrive collects where an item that became ready goes: the level of its list, or assigned at the place. It is false where it
  -- has gone elsewhere since it was put into the list.
  local function arrive(list, i, place, levels, sets)
    local it = list[i]
    if it.list ~= list or it.at ~= i then return false end
    if it.assignee == '-' then
      it.place = '0'
      put(levels, it.priority, it.id)
      return false
    end
    it.place = text(place)
    put(sets, ASSIGNED, '0', member(it.assignee, it.priority, it.place, it.id))
    w.told[it.assignee] = true
    return true
  end

  -- wait collects the zset of an item that has a time.
  local function wait(it, sets)
    put(sets, it.state == 'l' and LEASED or TIMED[it.state], it.due, it.id)
    it.place = '0'
    if it.state == 'x' then return end
    local at = tonumber(it.due)
    if w.due == 0 or at < w.due then
      w.due = at
      if it.state ~= 'l' and at - w.now < SOON then w.hint = true end
    end
  end

  -- settle writes what open and act have changed, and what acks have.
  local function settle()
    local values, before, behind, out = {}, {}, {}, {} -- items, levels of heads and tails, levels to be left
    local into, from = {}, {} -- zsets

    if #heads > 0 then -- the last one is put in first
      local first = tonumber(rcall('HGET', META, 'first') or MIDDLE)
      for i = #heads, 1, -1 do
        if arrive(heads, i, first - 1, before, into) then first = first - 1 end
      end
      if into[ASSIGNED] then rcall('HSET', META, 'first', text(first)) end
    end
    if #tails > 0 then
      local last, own = tonumber(rcall('HGET', META, 'last') or MIDDLE), false
      for i = 1, #tails do
        if arrive(tails, i, last + 1, behind, into) then last, own = last + 1, true end
      end
      if own then rcall('HSET', META, 'last', text(last)) end
    end
    for _, it in ipairs(touched) do
      leave(it, out, from)
      if it.state == 'd' or it.state == 'm' then
        w.gone[#w.gone + 1] = it.id
        if it.bucket ~= '-' and (it.state == 'm' or string.byte(it.bucket) == 117) then
          w.freed[#w.freed + 1] = it.bucket
          w.freed[#w.freed + 1] = it.id
        end
      else
        if it.state ~= 'r' then wait(it, into) end
        values[#values + 1] = it.id
        values[#values + 1] = it.state .. ' ' .. it.attempt .. ' ' .. it.moves .. ' ' .. it.due .. ' ' .. it.worker .. ' '
          .. it.failures .. ' ' .. it.suspends .. ' ' .. it.seq .. ' ' .. it.assignee .. ' ' .. it.bucket .. ' ' .. it.priority
          .. ' ' .. it.ready .. ' ' .. it.created .. ' ' .. it.place .. '\n' .. string.sub(it.value, it.payload)
      end
    end

    each('HSET', ITEMS, values)
    for set, ids in pairs(from) do each('ZREM', set, ids) end
    for priority, ids in pairs(out) do pull(priority, ids) end
    for set, list in pairs(into) do each('ZADD', set, list) end
    for priority, ids in pairs(before) do
      if each('LPUSH', readyKey(priority), ids) == #ids then w.filled = true end
    end
    for priority, ids in pairs(behind) do
      if each('RPUSH', readyKey(priority), ids) == #ids then w.filled = true end
    end
    finish(w.gone, w.unleased, w.freed)
    touched, heads, tails, w.items, w.gone, w.unleased, w.freed = {}, {}, {}, {}, {}, {}, {}
  end

  -- take reads items whose time has come. Those that do not stand where the zset says are taken out of it.
  local function take(set, state, most)
    local ids, found, astray = rcall('ZRANGEBYSCORE', set, '-inf', w.nowText, 'LIMIT', 0, most), {}, {}
    local looked = 0
    while looked < #ids and w.bytes < MOST_BYTES do
      local last = math.min(looked + PART, #ids)
      for i, value in ipairs(mget(ITEMS, ids, looked + 1, last)) do
        local id = ids[looked + i]
        w.items[id] = value
        w.bytes = w.bytes + #(value or '')
        local it = open(id)
        if it and it.state == state then
          found[#found + 1] = it
        else
          astray[#astray + 1] = id
        end
      end
      looked = last
    end
    each('ZREM', set, astray)
    return found, looked
  end

  -- pass takes back leases that have ended, and makes ready what is due.
  local function pass()
    for _, it in ipairs(take(LEASED, 'l', CHUNK)) do fail(it, heads, 0, '-', 'the+lease+ran+out') end
    settle()
    local left = CHUNK
    for _, state in ipairs({ 'y', 's', 't' }) do
      if left > 0 then
        local found, count = take(TIMED[state], state, left)
        for _, it in ipairs(found) do putInto(tails, it, '-', '-') end
        left = left - count
      end
    end
    settle()
    w.due = 0
    for _, set in ipairs({ LEASED, TIMED.y, TIMED.s, TIMED.t }) do
      local head = rcall('ZRANGE', set, 0, 0, 'WITHSCORES')
      local at = head[2] and head[2] + 0
      if at and (w.due == 0 or at < w.due) then w.due = at end
    end
  end

  return { act = act, settle = settle, pass = pass }
end

