-- Begins a repair: returns which of some unfinished items are missing in the queue. A missing item will be pushed soon,
-- or was lost, or has ended and the ledger does not know the end yet. From now on no push puts these items in. Only the
-- newest repair puts them in: after the ledger has all moves up to now, and if the ledger still has them as unfinished.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 n, the number of items
--      then n × id, n × seq (the ledger's number)
-- Result: number of the last entry of the outbox, the repair's token (empty = nothing is missing),
--         then the places 1 … n of the missing items.
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
