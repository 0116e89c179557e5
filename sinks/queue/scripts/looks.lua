-- Several sorted sets read as one, for the scripts that look. Assigned items are in the order of their members, all others in that of
-- (time, warehouse, id).

local PART = 100 -- items read at once
local ANY_ASSIGNED = 'a' -- not a state of its own: ready items that wait for one worker

-- setsOf lists the sets of a state, or of ANY_ASSIGNED, in a scope: {key, warehouse, rank}, the rank being where reading begins.
local function setsOf(state, scope)
  if state == ANY_ASSIGNED and scope == '*' then return { { key = ASSIGNED, warehouse = '', rank = 0 } } end
  local sets, warehouses = {}, warehousesOf(scope)
  table.sort(warehouses)
  for i, warehouse in ipairs(warehouses) do
    sets[i] = { key = state == ANY_ASSIGNED and assignedKey(warehouse) or setKey(state, warehouse), warehouse = warehouse, rank = 0 }
  end
  return sets
end

-- merging reads on from the ranks of the sets. The function that it returns gives a list of the next {set, member, score} in their order, PART
-- at most, empty at the end. Each set is read in parts of its own, so that the number of commands does not depend on the order of the members.
local function merging(sets, lexical)
  local part, queue = math.ceil(PART / #sets) + 1, {} -- queue: the sets that have a current member, in the order of these
  local function before(a, b)
    if lexical then return a.member < b.member end
    if a.score ~= b.score then return a.score < b.score end
    return a.warehouse < b.warehouse
  end

  -- following makes the next member of a set current. It is false at the end.
  local function following(set)
    if set.some then set.at = set.at + 2 end
    if not set.some or not set.some[set.at] and #set.some == 2 * part then
      set.some, set.at = rcall('ZRANGE', set.key, set.rank, set.rank + part - 1, 'WITHSCORES'), 1
      set.rank = set.rank + part
    end
    set.member, set.score = set.some[set.at], (set.some[set.at + 1] or 0) + 0
    return set.member
  end

  -- enter puts a set into the queue, behind those that come before it.
  local function enter(set)
    local low, high = 1, #queue + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if before(set, queue[middle]) then high = middle else low = middle + 1 end
    end
    table.insert(queue, low, set)
  end

  for _, set in ipairs(sets) do
    if following(set) then enter(set) end
  end
  return function()
    local some = {}
    while queue[1] and #some < PART do
      local set = table.remove(queue, 1)
      some[#some + 1] = { set = set, member = set.member, score = set.score }
      if following(set) then enter(set) end
    end
    return some
  end
end
