-- Names the items that stand at some places of a state's list at this moment.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 the letter of the state; a = assigned
--      4 the first place, from 0
--      5 how many at most
--      6 the warehouses whose items are seen, with spaces between them; * = all
-- Result: their ids
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local state, first, left, scope = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local ids = {}

local function ready()
  local service = order()
  local levels = service.sources(scope, 0)
  for level = 5, 1, -1 do
    local length = 0
    for _, s in ipairs(levels[level]) do length = length + rcall('LLEN', readyKey(level, s.warehouse)) end
    if first >= length then
      first = first - length
    else
      for s in service.runs(levels[level], PART) do
        if left == 0 then return ids end
        local offset, count = s.offset or 0, s.count
        s.offset = offset + count
        local skip = math.min(first, count)
        first = first - skip
        if skip < count then
          local some = rcall('LRANGE', readyKey(level, s.warehouse), offset + skip, offset + math.min(count, skip + left) - 1)
          for _, id in ipairs(some) do ids[#ids + 1] = id end
          left = left - #some
        end
      end
    end
  end
  return ids
end

-- skipTo sets the ranks of the sets to where so many members, or fewer, come before, and returns how many these are.
local function skipTo(sets)
  local low, high = 0, 0
  for _, set in ipairs(sets) do
    local last = rcall('ZRANGE', set.key, -1, -1, 'WITHSCORES')
    if last[2] then high = math.max(high, last[2] + 1) end
  end
  local function below(score)
    local n = 0
    for _, set in ipairs(sets) do n = n + rcall('ZCOUNT', set.key, '-inf', '(' .. text(score)) end
    return n
  end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if below(middle) <= first then low = middle else high = middle end
  end
  local skipped = 0
  for _, set in ipairs(sets) do
    set.rank = rcall('ZCOUNT', set.key, '-inf', '(' .. text(low))
    skipped = skipped + set.rank
  end
  return skipped
end

local function others()
  local sets, lexical = setsOf(state, scope), state == ANY_ASSIGNED
  if #sets == 0 then return ids end
  if #sets == 1 then
    sets[1].rank, first = first, 0
  elseif not lexical then
    first = first - skipTo(sets)
  end
  local following = merging(sets, lexical)
  while left > 0 do
    local some = following()
    if #some == 0 then return ids end
    for _, one in ipairs(some) do
      if first > 0 then
        first = first - 1
      elseif left > 0 then
        ids[#ids + 1] = lexical and match(one.member, '%S+$') or one.member
        left = left - 1
      end
    end
  end
  return ids
end

if state == READY then return ready() end
return others()
