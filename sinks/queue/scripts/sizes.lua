-- Counts the items of some warehouses, and removes warehouses that have nothing left from the list of warehouses.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 the warehouses, separated by spaces; * = all, one page of them
--      4 for *: the last warehouse of the page before; empty = the first page
--      5 for *: how many warehouses a page has
-- Result: the last warehouse of the page if there are more, else empty; the time span of the recent counts, µs; paused,
--         by whom, when.
--         Then for each warehouse: its name; assigned, leased, delayed, suspended, stored, dead; the recent counts of
--         pushed, done, failed and died; when the first of the dead items died; and for each level 5 … 1 how many items
--         are ready, and when the oldest of them became ready. Times in µs, 0 = none
-- Error:  EPOCH <what was found, or none>

local meta = rcall('HMGET', META, 'epoch', 'paused', 'paused_by', 'paused_at')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end
local scope, answer = ARGV[3], { '' }
local warehouses
if scope == '*' then
  local from, most = '-', tonumber(ARGV[5])
  if ARGV[4] ~= '' then from = '(' .. ARGV[4] end
  warehouses = rcall('ZRANGEBYLEX', WAREHOUSES, from, '+', 'LIMIT', 0, most)
  if #warehouses == most then answer[1] = warehouses[most] end
else
  warehouses = split(scope)
end

local now = clock()
local oldest = math.floor(now / SLOT) - SLOTS + 1
answer[2] = text(now - oldest * SLOT)
answer[3], answer[4], answer[5] = meta[2] or '0', meta[3] or '', meta[4] or '0'

local function counts(warehouse)
  local row, any = { warehouse }, false
  local function put(n)
    row[#row + 1] = text(n)
    any = any or n > 0
  end
  put(rcall('ZCARD', assignedKey(warehouse)))
  for _, state in ipairs({ LEASED, DELAYED, SUSPENDED, STORED, DEAD }) do put(rcall('ZCARD', setKey(state, warehouse))) end
  local moved = { 0, 0, 0, 0 }
  for _, slot in ipairs(rcall('HVALS', BASE .. 'recent:' .. warehouse)) do
    local of = { match(slot, '^(%d+) (%d+) (%d+) (%d+) (%d+)$') }
    if of[1] and tonumber(of[1]) >= oldest then
      for i = 1, 4 do moved[i] = moved[i] + of[i + 1] end
    end
  end
  for i = 1, 4 do put(moved[i]) end
  row[#row + 1] = text(tonumber(rcall('ZRANGE', setKey(DEAD, warehouse), 0, 0, 'WITHSCORES')[2] or 0))
  for level = 5, 1, -1 do
    local key, ordered = readyKey(level, warehouse), sinceKey(level, warehouse)
    put(rcall('ZCARD', key) + rcall('ZCARD', ordered))
    local first, oldest = rcall('ZRANGE', key, 0, 0, 'WITHSCORES')[2], rcall('ZRANGE', ordered, 0, 0)[1]
    oldest = oldest and tonumber(match(oldest, '^%d+')) - MIDDLE
    if first and (not oldest or first + 0 < oldest) then oldest = first + 0 end
    row[#row + 1] = text(oldest or 0)
  end
  return row, any
end

for _, warehouse in ipairs(warehouses) do
  local row, any = counts(warehouse)
  if any then
    for _, value in ipairs(row) do answer[#answer + 1] = value end
  else
    rcall('ZREM', WAREHOUSES, warehouse)
    rcall('DEL', BASE .. 'recent:' .. warehouse)
  end
end
return answer
