-- Finds the sorted sets that list.lua and range.lua read as one set, with the functions of order.lua. Assigned items
-- are sorted by member, all other items by (score, source, member).

local ANY_ASSIGNED = 'a' -- not a state of its own: ready items that wait for one worker

-- setsOf returns the sets of a state, or of ANY_ASSIGNED, in a scope, in the form of sources(). The source is the
-- warehouse.
local function setsOf(state, scope)
  if state == ANY_ASSIGNED and scope == '*' then return { { key = ASSIGNED, source = '', rank = 0 } } end
  local sets, warehouses = {}, warehousesOf(scope)
  table.sort(warehouses)
  for i, warehouse in ipairs(warehouses) do
    sets[i] = { key = state == ANY_ASSIGNED and assignedKey(warehouse) or setKey(state, warehouse), source = warehouse, rank = 0 }
  end
  return sets
end
