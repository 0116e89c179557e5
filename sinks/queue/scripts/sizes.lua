-- Counts what a queue holds.
--
-- KEYS 1 … 16 and ARGV 1, 2: see common.lua
-- Result: assigned, leased, delayed, suspended, stored, dead; paused, by whom, when; then of the levels 5 … 1 how many are ready
--         and the value of the first, or empty
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
return answer
