-- Counts what is served before a ready item, of the warehouses that are seen: for one that anybody may take, in the levels; for one that a
-- worker alone gets, what that worker is given before it.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 id
--      4 the warehouses whose items are seen, with spaces between them; * = all
-- Result: place, from 1, and the value without its payload; nothing if the item is not ready
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local id, scope = ARGV[3], ARGV[4]
local value = rcall('HGET', ITEMS, id)
if not value then return {} end
local state, assignee, warehouse, priority, own =
  match(value, '^(%a) %d+ %d+ %d+ %S+ %d+ %d+ %d+ (%S+) (%S+) %S+ (%d) %d+ %d+ (%d+)\n')
if state ~= READY then return {} end
priority = tonumber(priority)
local head = match(value, '^[^\n]*')

local service = order()
local levels, before = service.sources(scope, 0), 0
for level = 5, priority + 1, -1 do
  for _, s in ipairs(levels[level]) do before = before + rcall('LLEN', readyKey(level, s.warehouse)) end
end
if assignee == '-' then
  local found = rcall('LPOS', readyKey(priority, warehouse), id)
  if not found then return {} end
  for s in service.runs(levels[priority], 100) do
    if s.warehouse == warehouse then
      if found < s.count then return { text(before + found + 1), head } end
      found = found - s.count
    end
    before = before + s.count
  end
  return {}
end
-- What is assigned to the subject of a worker is given to it, too.
local names, subject = { assignee }, match(assignee, '^(.*)/')
if subject then names[2] = subject end
local keys = { ASSIGNED }
if scope ~= '*' then
  keys = {}
  for i, of in ipairs(warehousesOf(scope)) do keys[i] = assignedKey(of) end
end
for _, name in ipairs(names) do
  for _, key in ipairs(keys) do
    before = before + rcall('ZLEXCOUNT', key, '[' .. name .. ' ', '(' .. member(name, priority, own, ''))
  end
end
return { text(before + 1), head }
