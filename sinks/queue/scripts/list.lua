-- Reads a part of a queue: items of one state, in their order.
--
-- KEYS 1 … 16 and ARGV 1, 2: see common.lua
-- ARGV 3 the letter of the state; a = assigned
--      4 how many at most
--      5 bytes of values after which no more are added
--      6 level, 7 place, 8 name: where the page before ended, as this script said; 0, 0 and empty = the beginning
-- Result: level, place, name; empty if there is no more; then id, value, id, value…
--         For ready items they are the level, how many of it were read, and the last id; in assigned the name is a member;
--         for what waits for a time the place is the last one's score.
-- Error:  EPOCH <what was found, or none>

local epoch = rcall('HGET', META, 'epoch')
if epoch ~= ARGV[1] then return epochError(epoch) end
local state, left, room = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local level, place, name = tonumber(ARGV[6]), ARGV[7], ARGV[8]
local PART = 100 -- items read at once
local answer = {'0', '0', ''}

-- add puts the items on the page until it is full, and returns how many it has looked at.
local function add(ids)
  for i, value in ipairs(mget(ITEMS, ids, 1, #ids)) do
    if left == 0 or room <= 0 then return i - 1 end
    if value then
      answer[#answer + 1], answer[#answer + 2] = ids[i], value
      left, room = left - 1, room - #value
    end
  end
  return #ids
end

local function full() return left == 0 or room <= 0 end

local function pageEnds(atLevel, atPlace, atName)
  answer[1], answer[2], answer[3] = text(atLevel), text(atPlace), atName
  return answer
end

local function ready()
  local offset = tonumber(place)
  if level == 0 then level = 5 end
  -- What was served meanwhile has moved the rest forward.
  if offset > 0 and rcall('LINDEX', readyKey(level), offset - 1) ~= name then
    local found = rcall('LPOS', readyKey(level), name)
    if found then offset = found + 1 end
  end
  while level > 0 do
    local ids = rcall('LRANGE', readyKey(level), offset, offset + PART - 1)
    if #ids > 0 and full() then return pageEnds(level, offset, name) end
    local looked = add(ids)
    offset = offset + looked
    if looked > 0 then name = ids[looked] end
    if #ids == 0 then level, offset = level - 1, 0 end
  end
  return answer
end

local function assigned()
  local from = '-'
  if name ~= '' then from = '(' .. name end
  while true do
    local members, ids = rcall('ZRANGEBYLEX', ASSIGNED, from, '+', 'LIMIT', 0, PART), {}
    if #members == 0 then return answer end
    if full() then return pageEnds(0, 0, name) end
    for i, m in ipairs(members) do ids[i] = match(m, '%S+$') end
    local looked = add(ids)
    if looked > 0 then name = members[looked] end
    from = '(' .. name
  end
end

local function timed(set)
  local rank = 0
  if name ~= '' then
    local score = rcall('ZSCORE', set, name)
    if score and score + 0 == place + 0 then
      rank = rcall('ZRANK', set, name) + 1
    else -- it has gone on; what has its time may come twice
      rank = rcall('ZCOUNT', set, '-inf', '(' .. place)
    end
  end
  while true do
    local ids = rcall('ZRANGE', set, rank, rank + PART - 1)
    if #ids == 0 then return answer end
    if full() then return pageEnds(0, rcall('ZSCORE', set, name) + 0, name) end
    local looked = add(ids)
    rank = rank + looked
    if looked > 0 then name = ids[looked] end
  end
end

if state == 'r' then return ready() end
if state == 'a' then return assigned() end
return timed(state == 'l' and LEASED or TIMED[state])
