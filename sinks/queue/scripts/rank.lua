-- Counts the items of a scope that are served before a ready item. For an item that any worker may lease, the script
-- counts items of ready lists. For an assigned item, it counts the items that the worker gets before this item.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 id
--      4 the warehouses of the caller's scope, separated by spaces; * = all
-- Result: place, from 1, and the value without its payload; nothing if the item is not ready
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local id, scope = ARGV[3], ARGV[4]
local value = rcall('HGET', ITEMS, id)
if not value then return {} end
local state, assignee, warehouse, priority, order, place =
  match(value, '^(%a) %d+ %d+ %d+ %S+ %d+ %d+ %d+ (%S+) (%S+) %S+ (%d) %d+ %d+ (%S+) (%d+)\n')
if state ~= READY then return {} end
priority = tonumber(priority)
local head = match(value, '^[^\n]*')

local before = 0
for level = 5, priority + 1, -1 do
  for _, set in ipairs(sources(level, scope, 0)) do before = before + rcall('ZCARD', set.key) end
end
local source, name = listed(warehouse, order, place, id)
if assignee == '-' then
  local score = rcall('ZSCORE', readyKey(priority, source), name)
  if not score then return {} end
  for _, set in ipairs(sources(priority, scope, 0)) do
    if set.source == source then
      before = before + rcall('ZRANK', set.key, name)
    else
      before = before + rcall('ZCOUNT', set.key, '-inf', (set.source < source and '' or '(') .. score)
    end
  end
  return { text(before + 1), head }
end
-- A worker also gets the items that are assigned to its subject.
local names, subject = { assignee }, match(assignee, '^(.*)/')
if subject then names[2] = subject end
local keys = { ASSIGNED }
if scope ~= '*' then
  keys = {}
  for i, of in ipairs(warehousesOf(scope)) do keys[i] = assignedKey(of) end
end
for _, of in ipairs(names) do
  for _, key in ipairs(keys) do
    before = before + rcall('ZLEXCOUNT', key, '[' .. of .. ' ', '(' .. member(of, priority, order, place, id))
  end
end
return { text(before + 1), head }
