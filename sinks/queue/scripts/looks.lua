-- Several sorted sets read as one, for the scripts that look. Assigned items are in the order of their members, all others in that of
-- (time, warehouse, id).

local PART = 100 -- items read at once

-- setsOf lists the sets of a state, a = assigned, in a scope: {key, warehouse, rank}, the rank being where reading begins.
local function setsOf(state, scope)
  if state == 'a' and scope == '*' then return { { key = ASSIGNED, warehouse = '', rank = 0 } } end
  local sets, warehouses = {}, warehousesOf(scope)
  table.sort(warehouses)
  for i, warehouse in ipairs(warehouses) do
    sets[i] = { key = state == 'a' and assignedKey(warehouse) or setKey(state, warehouse), warehouse = warehouse, rank = 0 }
  end
  return sets
end

-- merged reads on from the ranks of the sets, PART members or so at once: it returns a list of {set, member, score} in their order, empty
-- at the end. The ranks are left to the caller: what of the list it has used it adds to them.
local function merged(sets, lexical)
  local part, all, over = math.ceil(PART / #sets) + 1, {}, nil
  local function before(a, b)
    if lexical then return a.member < b.member end
    if a.score ~= b.score then return a.score < b.score end
    if a.set ~= b.set then return a.set.warehouse < b.set.warehouse end
    return a.member < b.member
  end
  for _, set in ipairs(sets) do
    if not set.over then
      local some, last = rcall('ZRANGE', set.key, set.rank, set.rank + part - 1, 'WITHSCORES'), nil
      for i = 1, #some, 2 do
        last = { set = set, member = some[i], score = some[i + 1] + 0 }
        all[#all + 1] = last
      end
      if #some < 2 * part then
        set.over = #some == 0
      elseif not over or before(last, over) then
        over = last
      end
    end
  end
  table.sort(all, before)
  if over then
    for i = #all, 1, -1 do
      if not before(over, all[i]) then break end
      all[i] = nil
    end
  end
  return all
end
