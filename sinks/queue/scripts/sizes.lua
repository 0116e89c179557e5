-- Counts what a queue holds.
--
-- KEYS 1 … 16 and ARGV 1, 2: see common.lua
-- Result: assigned, leased, delayed, suspended, stored, dead; paused, by whom, when; then of the levels 5 … 1 how many are ready
--         and the value of the first, or empty; then for how long what moved was counted, µs, and how many were pushed, are done,
--         have failed, and died
-- Error:  EPOCH <what was found, or none>

local meta = rcall('HMGET', META, 'epoch', 'paused', 'paused_by', 'paused_at')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end
local answer = {}
for i = 8, 13 do answer[#answer + 1] = text(rcall('ZCARD', KEYS[i])) end
answer[7], answer[8], answer[9] = meta[2] or '0', meta[3] or '', meta[4] or '0'
for level = 5, 1, -1 do
  answer[#answer + 1] = text(rcall('LLEN', readyKey(level)))
  local first = rcall('LINDEX', readyKey(level), 0)
  -- Without its payload.
  answer[#answer + 1] = first and match(rcall('HGET', ITEMS, first) or '', '^[^\n]*') or ''
end
local now, fields = clock(), {}
for i = 0, SLOTS - 1 do fields[i + 1] = 'r' .. text(i) end
local oldest, moved = math.floor(now / SLOT) - SLOTS + 1, { 0, 0, 0, 0 }
for _, slot in ipairs(rcall('HMGET', META, unpack(fields))) do
  local counts = { match(slot or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$') }
  if counts[1] and tonumber(counts[1]) >= oldest then
    for i = 1, 4 do moved[i] = moved[i] + counts[i + 1] end
  end
end
answer[#answer + 1] = text(now - oldest * SLOT)
for i = 1, 4 do answer[#answer + 1] = text(moved[i]) end
return answer
