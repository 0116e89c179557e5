-- Pauses a queue, or resumes it.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 channel for hints, 4 the hint, which is published on resume
--      5 1 = paused, 0 = not
--      6 who asked
--      7 when, µs
-- Result: one text: 1 if the pause has changed, else 0
-- Error:  EPOCH <what was found, or none>

local meta = rcall('HMGET', META, 'epoch', 'paused')
if meta[1] ~= ARGV[1] then return epochError(meta[1]) end
evenIfFull()
rcall('HSET', META, 'paused', ARGV[5], 'paused_by', ARGV[6], 'paused_at', ARGV[7])
if (meta[2] or '0') == ARGV[5] then return {'0'} end
if ARGV[5] == '0' then rcall('PUBLISH', ARGV[3], ARGV[4] .. ' *') end
return {'1'}
