-- Begins a repair: says which of some unfinished items are not in the queue. They are either about to be pushed, or were lost,
-- or have ended and the ledger does not know it yet. From now on no push puts them in, only a repair does: whoever
-- began the newest one, once the ledger knows all that had moved until now and still calls them unfinished.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 n, the number of items
--      then n × id, n × seq (the ledger's number)
-- Result: number of the last entry of the outbox, the repair's token (empty = nothing is missing),
--         then the places 1 … n of those that are missing.
-- Error:  EPOCH <what was found, or none>; nothing was changed.

local meta = rcall('HMGET', META, 'epoch', 'out', 'repairs', 'repaired')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end

local n = tonumber(ARGV[3])
local result, repaired = { meta[2] or '0', '' }, tonumber(meta[4] or 0)
for i = 1, n do
  if rcall('HEXISTS', ITEMS, ARGV[3 + i]) == 0 then
    result[#result + 1] = i
    repaired = math.max(repaired, tonumber(ARGV[3 + n + i]))
  end
end
if #result > 2 then
  result[2] = text((meta[3] or 0) + 1)
  rcall('HSET', META, 'repairs', result[2], 'repaired', text(repaired))
end
return result
