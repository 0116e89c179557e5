-- Reads a part of a queue: items of one state, in their order.
--
-- KEYS 1 … 10 and ARGV 1, 2: see common.lua
-- ARGV 3 the letter of the state; a = assigned
--      4 how many at most
--      5 bytes of values and payloads after which no more are added
--      6 the warehouses whose items are seen, with spaces between them; * = all
--      7 level, 8 place, 9 passed, 10 warehouse, 11 name: where the page before ended, as this script said; 0, 0, 0, empty and empty =
--        the beginning
-- Result: level, place, passed, warehouse, name; the name is empty if there is no more; then id, value, id, value…
--         For ready items they are the level, the number of the run, how many items of it were read, and the last id; in assigned the name
--         is a member; for what waits for a time the place is the last one's score.
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local state, left, room, scope = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local level, place, passed, home, name = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10], ARGV[11]
local answer = { '0', '0', '0', '', '' }

-- put puts the items on the page until it is full, and returns how many it has looked at.
local function put(ids)
  local values, looked
  values, looked, left, room = page(ids, left, room)
  for i, value in ipairs(values) do
    if value then answer[#answer + 1], answer[#answer + 2] = ids[i], value end
  end
  return looked
end

local function full() return left == 0 or room <= 0 end

local function pageEnds()
  answer[1], answer[2], answer[3], answer[4], answer[5] = text(level), text(place), text(passed), home, name
  return answer
end

local function ready()
  local service = order()
  local levels = service.sources(scope, 0)
  local from = name ~= '' and level or 0 -- the level at which the page begins in the middle
  if level == 0 then level = 5 end
  for at = level, 1, -1 do
    local begin, number, of, id = passed, place, home, name
    for s in service.runs(levels[at], PART) do
      local key, offset, count = readyKey(at, s.warehouse), s.offset or 0, s.count
      s.offset = offset + count
      local skip = 0
      if at == from and s.number < number then
        skip = count
      elseif at == from and s.number == number and s.warehouse == of then
        skip = begin
        -- What was served meanwhile has moved the rest forward.
        if skip > 0 and rcall('LINDEX', key, offset + skip - 1) ~= id then
          local found = rcall('LPOS', key, id)
          if found then skip = math.max(found + 1 - offset, 0) end
        end
      end
      while skip < count do
        if full() then return pageEnds() end
        local ids = rcall('LRANGE', key, offset + skip, offset + math.min(skip + PART, count) - 1)
        if #ids == 0 then break end
        local looked = put(ids)
        skip = skip + looked
        if looked > 0 then level, place, passed, home, name = at, s.number, skip, s.warehouse, ids[looked] end
      end
    end
  end
  return answer
end

-- others reads sorted sets.
local function others()
  local sets, lexical = setsOf(state, scope), state == ANY_ASSIGNED
  if #sets == 0 then return answer end
  if name ~= '' then
    for _, set in ipairs(sets) do
      if lexical then
        set.rank = rcall('ZLEXCOUNT', set.key, '-', '[' .. name)
      elseif set.warehouse == home and (rcall('ZSCORE', set.key, name) or -1) + 0 == place then
        set.rank = rcall('ZRANK', set.key, name) + 1
      elseif set.warehouse < home then
        set.rank = rcall('ZCOUNT', set.key, '-inf', text(place))
      else -- where the last one has gone on, what has its time may come twice
        set.rank = rcall('ZCOUNT', set.key, '-inf', '(' .. text(place))
      end
    end
  end
  local following = merging(sets, lexical)
  while true do
    local some, ids = following(), {}
    if #some == 0 then return answer end
    if full() then return pageEnds() end
    for i, one in ipairs(some) do ids[i] = lexical and match(one.member, '%S+$') or one.member end
    local looked = put(ids)
    if looked > 0 then
      local last = some[looked]
      level, passed, home, name = 0, 0, last.set.warehouse, last.member
      place = lexical and 0 or last.score
    end
    if looked < #some then return pageEnds() end
  end
end

if state == READY then return ready() end
return others()
