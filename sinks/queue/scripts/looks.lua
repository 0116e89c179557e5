-- Which sorted sets the scripts that look read as one, as order.lua does it. Assigned items are in the order of their members, all others in that of
-- (score, source, member).

local ANY_ASSIGNED = 'a' -- not a state of its own: ready items that wait for one worker

-- setsOf lists the sets of a state, or of ANY_ASSIGNED, in a scope, as sources does it for a level of ready items. The source is the warehouse.
local function setsOf(state, scope)
  if state == ANY_ASSIGNED and scope == '*' then return { { key = ASSIGNED, source = '', rank = 0 } } end
  local sets, warehouses = {}, warehousesOf(scope)
  table.sort(warehouses)
  for i, warehouse in ipairs(warehouses) do
    sets[i] = { key = state == ANY_ASSIGNED and assignedKey(warehouse) or setKey(state, warehouse), source = warehouse, rank = 0 }
  end
  return sets
end
