-- Reads some items, of any warehouse.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 bytes of values and payloads; when they are reached, no more values are added
--      then ids, at least one
-- Result: the values of the first ids, at least one; empty where there is no such item
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local ids = { unpack(ARGV, 4) }
local values = page(ids, #ids, tonumber(ARGV[3]))
for i, value in ipairs(values) do values[i] = value or '' end
return values
