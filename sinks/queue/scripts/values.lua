-- Reads some items, whatever warehouse they belong to.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 bytes of values and payloads after which no more are added
--      then ids, one at least
-- Result: for each of the first ids, one at least, its value, or empty if there is no such item
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local ids = { unpack(ARGV, 4) }
local values = page(ids, #ids, tonumber(ARGV[3]))
for i, value in ipairs(values) do values[i] = value or '' end
return values
