-- Names the items that stand at some places of a state's list at this moment.
--
-- KEYS 1 … 16 and ARGV 1, 2: see common.lua
-- ARGV 3 the letter of the state; a = assigned
--      4 the first place, from 0
--      5 how many at most
-- Result: their ids
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local state, first, left = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

if state == 'r' then
  local ids = {}
  for level = 5, 1, -1 do
    local length = rcall('LLEN', readyKey(level))
    if left > 0 and first < length then
      for _, id in ipairs(rcall('LRANGE', readyKey(level), first, first + left - 1)) do
        ids[#ids + 1] = id
        left = left - 1
      end
    end
    first = math.max(0, first - length)
  end
  return ids
end

if state == 'a' then
  local members = rcall('ZRANGE', ASSIGNED, first, first + left - 1)
  for i, m in ipairs(members) do members[i] = match(m, '%S+$') end
  return members
end

return rcall('ZRANGE', TIMED[state], first, first + left - 1)
