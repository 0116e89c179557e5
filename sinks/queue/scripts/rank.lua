-- Counts what is served before a ready item: for one that anybody may take, in the levels; for one that a worker alone gets, what
-- that worker is given before it.
--
-- KEYS 1 … 16 and ARGV 1, 2: see common.lua
-- ARGV 3 id
-- Result: place, from 1, and the value; nothing if the item is not ready
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local id = ARGV[3]
local value = rcall('HGET', ITEMS, id)
if not value then return {} end
local state, assignee, priority, own =
  match(value, '^(%a) %d+ %d+ %d+ %S+ %d+ %d+ %d+ (%S+) %S+ (%d) %d+ %d+ (%d+)\n')
if state ~= 'r' then return {} end
priority = tonumber(priority)

local before = 0
for level = 5, priority + 1, -1 do before = before + rcall('LLEN', readyKey(level)) end
if assignee == '-' then
  local found = rcall('LPOS', readyKey(priority), id)
  if not found then return {} end
  return {text(before + found + 1), value}
end
local first, last = '[' .. assignee .. ' ', '(' .. member(assignee, priority, own, id)
before = before + rcall('ZLEXCOUNT', ASSIGNED, first, last)
return {text(before + 1), value}
