-- Returns the ids of the items at a range of places in a state's list at this moment.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 the letter of the state; a = assigned
--      4 the first place, from 0
--      5 how many items at most
--      6 the warehouses of the caller's scope, separated by spaces; * = all
-- Result: their ids
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local state, first, left, scope = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local ids = {}

-- skipTo skips members with low scores, at most "first" members, and subtracts the number of skipped members from
-- "first". It searches for the score by halving the span of the scores.
local function skipTo(sets)
  local low, high = nil, nil
  for _, set in ipairs(sets) do
    set.score = nil -- the known score belongs to a member that may be skipped
    local head, last = rcall('ZRANGE', set.key, 0, 0, 'WITHSCORES'), rcall('ZRANGE', set.key, -1, -1, 'WITHSCORES')
    if last[2] then low, high = math.min(low or head[2] + 0, head[2] + 0), math.max(high or last[2] + 1, last[2] + 1) end
  end
  if not low then return end
  local function below(score)
    local n = 0
    for _, set in ipairs(sets) do n = n + rcall('ZCOUNT', set.key, '-inf', '(' .. text(score)) end
    return n
  end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if below(middle) <= first then low = middle else high = middle end
  end
  for _, set in ipairs(sets) do
    set.rank = rcall('ZCOUNT', set.key, '-inf', '(' .. text(low))
    first = first - set.rank
  end
end

-- read adds the ids of the sets' members, from place "first" on.
local function read(sets, lexical)
  if #sets == 1 then
    sets[1].rank, sets[1].score, first = first, nil, 0
  elseif not lexical then
    skipTo(sets)
  end
  local following = merging(sets, lexical)
  while left > 0 do
    local some = following()
    if #some == 0 then return end
    for _, one in ipairs(some) do
      if first > 0 then
        first = first - 1
      elseif left > 0 then
        ids[#ids + 1] = match(one.member, '%S+$')
        left = left - 1
      end
    end
  end
end

if state ~= READY then
  read(setsOf(state, scope), state == ANY_ASSIGNED)
  return ids
end
for level = 5, 1, -1 do
  local sets, length = sources(level, scope, 0), 0
  for _, set in ipairs(sets) do length = length + rcall('ZCARD', set.key) end
  if first >= length then first = first - length elseif left > 0 then read(sets, false) end
end
return ids
