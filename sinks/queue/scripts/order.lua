-- The order of service across the ready lists of several warehouses, for the scripts that need it. It is a function because to make
-- all of these functions costs as much as an ordinary push.
--
-- A source is a ready list: level, warehouse, and number, that of its first run. The sources of a level are in the order of these numbers.

local function order()
  local o = {}

  -- sources reads which ready lists of a scope have items, for each level. Of all warehouses it reads the first so many lists alone,
  -- which have so many items at least.
  function o.sources(scope, most)
    local levels = { {}, {}, {}, {}, {} }
    local function add(name, score)
      local level = tonumber(string.sub(name, 1, 1))
      local list = levels[level]
      list[#list + 1] = { level = level, warehouse = string.sub(name, 3), number = score - (5 - level) * LEVEL }
    end
    if scope == '*' then
      local heads = rcall('ZRANGE', HEADS, 0, most - 1, 'WITHSCORES')
      for i = 1, #heads, 2 do add(heads[i], heads[i + 1] + 0) end
      return levels
    end
    local names = {}
    for _, warehouse in ipairs(split(scope)) do
      for level = 5, 1, -1 do names[#names + 1] = level .. ' ' .. warehouse end
    end
    for first = 1, #names, CHUNK do
      local last = math.min(first + CHUNK - 1, #names)
      for i, score in ipairs(rcall('ZMSCORE', HEADS, unpack(names, first, last))) do
        if score then add(names[first + i - 1], score + 0) end
      end
    end
    for level = 1, 5 do
      if #levels[level] > 1 then table.sort(levels[level], function(a, b) return a.number < b.number end) end
    end
    return levels
  end

  -- load reads the next runs of a source, part at once, and makes the first of them current. It is false where there are none.
  local function load(s, part)
    s.runs, s.at = rcall('LRANGE', runsKey(s.level, s.warehouse), s.passed, s.passed + part - 1), 1
    if not s.runs[1] then return false end
    s.number, s.count = readRun(s.runs[1])
    return true
  end

  -- runs goes through the runs of the sources of one level in the order of service: the function that it returns gives the source
  -- whose turn it is, with the number and the count of its run, and how many of its runs have passed; nil at the end.
  function o.runs(sources, part)
    local queue, current = {}, nil
    for i, s in ipairs(sources) do
      queue[i] = s
      s.passed, s.runs = 0, nil
    end
    local function following(s)
      s.passed, s.at = s.passed + 1, s.at + 1
      if s.runs[s.at] then
        s.number, s.count = readRun(s.runs[s.at])
        return true
      end
      return #s.runs == part and load(s, part)
    end
    return function()
      if current and following(current) then
        local to = 1
        while queue[to + 1] and queue[to + 1].number < current.number do
          queue[to] = queue[to + 1]
          to = to + 1
        end
        queue[to] = current
      elseif current then
        table.remove(queue, 1)
      end
      current = queue[1]
      while current and not current.runs and not load(current, part) do
        table.remove(queue, 1)
        current = queue[1]
      end
      return current
    end
  end

  -- cut takes items off the front of a list's runs whose ids were taken out: so many runs, and so many items of the next.
  local function cut(level, warehouse, runs, more)
    local key, name = runsKey(level, warehouse), level .. ' ' .. warehouse
    if runs > 0 then rcall('LTRIM', key, runs, -1) end
    local first = rcall('LINDEX', key, 0)
    if not first then
      rcall('ZREM', HEADS, name)
      return
    end
    local number, count = readRun(first)
    if more > 0 then rcall('LSET', key, 0, text(number) .. ' ' .. text(count - more)) end
    if runs > 0 then rcall('ZADD', HEADS, headScore(level, number), name) end
  end

  -- pop takes up to so many ids out of one list.
  local function pop(s, most)
    local ids = rcall('LPOP', readyKey(s.level, s.warehouse), most) or {}
    local key, runs, left = runsKey(s.level, s.warehouse), 0, #ids
    if left == 0 then -- the list is gone, and its runs must not be looked at for ever
      rcall('DEL', key)
      rcall('ZREM', HEADS, s.level .. ' ' .. s.warehouse)
      return ids
    end
    while left > 0 do
      local part = rcall('LRANGE', key, runs, runs + 9)
      if #part == 0 then break end
      for _, run in ipairs(part) do
        local _, count = readRun(run)
        if count > left then
          cut(s.level, s.warehouse, runs, left)
          return ids
        end
        runs, left = runs + 1, left - count
        if left == 0 then break end
      end
    end
    cut(s.level, s.warehouse, runs, 0)
    return ids
  end

  -- serve takes up to so many ids out of the lists of one level, in the order of service.
  function o.serve(sources, most)
    if #sources == 0 then return {} end
    if #sources == 1 or most == 1 then return pop(sources[1], most) end
    local turns, touched, n = {}, {}, most
    for s in o.runs(sources, math.min(most, 100)) do
      local count = math.min(s.count, n)
      if not s.taken then
        s.taken = 0
        touched[#touched + 1] = s
      end
      s.taken = s.taken + count
      if count < s.count then s.over, s.more = s.passed, count else s.over, s.more = s.passed + 1, 0 end
      turns[#turns + 1], turns[#turns + 2] = s, count
      n = n - count
      if n == 0 then break end
    end
    for _, s in ipairs(touched) do
      s.ids, s.given = rcall('LPOP', readyKey(s.level, s.warehouse), s.taken) or {}, 0
      cut(s.level, s.warehouse, s.over, s.more)
      s.taken = nil
    end
    local ids = {}
    for i = 1, #turns, 2 do
      local s = turns[i]
      for _ = 1, turns[i + 1] do
        s.given = s.given + 1
        ids[#ids + 1] = s.ids[s.given]
      end
    end
    return ids
  end

  return o
end
