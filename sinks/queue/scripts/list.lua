-- Reads one page of a queue: items of one state, in their order.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 the letter of the state; a = assigned; w = ready items by how long they have been ready
--      4 how many items at most
--      5 bytes of values and payloads; when they are reached, the page ends
--      6 the warehouses of the caller's scope, separated by spaces; * = all
--      7 level, 8 score, 9 source, 10 member: where the page before ended, from its result; 0, 0, empty and empty = the
--        beginning
-- Result: level, score, source, member; the member is empty if there are no more items; then id, value, id, value…
--         The level is 0 except for ready items. The score is 0 for assigned items.
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local state, left, room, scope = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local level, score, source, name = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9], ARGV[10]
local answer = { '0', '0', '', '' }
local BY_WAIT = 'w'

-- put adds items to the page until it is full, and returns how many it has read.
local function put(ids)
  local values, looked
  values, looked, left, room = page(ids, left, room)
  for i, value in ipairs(values) do
    if value then answer[#answer + 1], answer[#answer + 2] = ids[i], value end
  end
  return looked
end

local function full() return left == 0 or room <= 0 end

-- skip sets the ranks of the sets to continue where the page before ended.
local function skip(sets, lexical)
  for _, set in ipairs(sets) do
    set.score = nil -- the known score belongs to a member that may be skipped
    if set.placed then
      set.rank = rcall('ZLEXCOUNT', set.key, '-', set.source == source and '[' .. name or '(' .. digits(score))
    elseif lexical then
      set.rank = rcall('ZLEXCOUNT', set.key, '-', '[' .. name)
    elseif set.source == source and (rcall('ZSCORE', set.key, name) or -MIDDLE) + 0 == score then
      set.rank = rcall('ZRANK', set.key, name) + 1
    elseif set.source < source then
      set.rank = rcall('ZCOUNT', set.key, '-inf', text(score))
    else -- the last item has moved, so items with its score may come twice
      set.rank = rcall('ZCOUNT', set.key, '-inf', '(' .. text(score))
    end
  end
end

-- read adds the items of the sets to the page. It returns true if the page is full before the end of the sets.
local function read(sets, lexical, at)
  if #sets == 0 then return false end
  if name ~= '' and at == level then skip(sets, lexical) end
  local following = merging(sets, lexical)
  while true do
    local some, ids = following(), {}
    if #some == 0 then return false end
    if full() then return true end
    for i, one in ipairs(some) do ids[i] = match(one.member, '%S+$') end
    local looked = put(ids)
    if looked > 0 then
      local last = some[looked]
      level, score, source, name = at, lexical and 0 or last.score, last.set.source, last.member
    end
    if looked < #some then return true end
  end
end

-- byWait returns the ready items of all levels, as sets in the order of their places.
local function byWait()
  local sets = {}
  for level = 5, 1, -1 do
    for _, set in ipairs(sources(level, scope, 0)) do
      if set.ordered then
        set.key, set.placed, set.score = sinceKey(level, match(set.source, '^(.*)/o$')), true, nil
      end
      set.source = level .. ':' .. set.source
      sets[#sets + 1] = set
    end
  end
  return sets
end

local function all()
  if state == BY_WAIT then return read(byWait(), false, 0) end
  if state ~= READY then return read(setsOf(state, scope), state == ANY_ASSIGNED, 0) end
  for at = level > 0 and level or 5, 1, -1 do
    if read(sources(at, scope, 0), false, at) then return true end
  end
  return false
end

if all() then answer[1], answer[2], answer[3], answer[4] = text(level), text(score), source, name end
return answer
