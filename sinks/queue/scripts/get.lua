-- Reads one item, and the positions of the outbox at this moment.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 id
-- Result: out, drained, the value or empty
-- Error:  EPOCH <what was found, or none>

local meta = rcall('HMGET', META, 'epoch', 'out', 'drained')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end
return { meta[2] or '0', meta[3] or '0', page({ ARGV[3] }, 1, 1)[1] or '' }
