-- Functions that count unread notices. read.lua comes before this text.

-- With more marks than this, a reader's count walks through the inbox instead of looking up each mark.
local FEW_MARKS = 4000

-- How many notices one call counts at most. With many inboxes it is fewer, see LOOKUPS.
local COUNTED = 2000

-- countOne counts the unread notices of one inbox without expired notices: the notices above its watermark, minus the
-- notices with a mark. It returns -1 if the reader has too many marks for this way of counting.
local function countOne(state, key, clock, most)
  local above = watermark(state, 1, clock)
  local n = redis.call('ZCOUNT', key, '(' .. text(above), text(clock))
  if n == 0 or not (state and state.some) then return math.min(n, most) end
  local marks = redis.call('ZCARD', state.marks)
  if n - marks >= most then return most end
  if marks > FEW_MARKS then return -1 end
  local members = redis.call('ZRANGE', state.marks, 0, -1)
  for first = 1, #members, CHUNK do
    local some = {}
    for i = first, math.min(first + CHUNK - 1, #members) do
      if string.sub(members[i], 1, 1) == 'r' then some[#some + 1] = string.sub(members[i], 3) end
    end
    if #some > 0 then
      for _, score in ipairs(redis.call('ZMSCORE', key, unpack(some))) do
        if score and number(score) > above then n = n - 1 end
      end
    end
  end
  return math.min(n, most)
end

-- countSome counts each unread notice up to a clock once, inbox by inbox, newest first. It continues where the call
-- before ended: in an inbox (0 = at the beginning), below a score. It stops after "most" notices, or when it has looked
-- through as much as one call may. It returns how many it has found, and where to continue; 0 = the count is complete,
-- or has reached most.
local function countSome(state, keys, clock, expired, inbox, below, most)
  local room = math.max(100, math.min(COUNTED, math.floor(LOOKUPS / #keys)))
  local ids, scores, place, seen, above, highest = {}, {}, {}, {}, {}, 0
  for i = 1, #keys do
    above[i] = watermark(state, i, clock)
    highest = math.max(highest, above[i])
  end

  -- Collect.
  local i, upTo = 1, text(clock)
  if inbox > 0 then i, upTo = inbox, '(' .. text(below) end
  local looked, nextInbox, nextBelow = 0, 0, 0
  while i <= #keys do
    local list = redis.call('ZREVRANGEBYSCORE', keys[i], upTo, '(' .. text(above[i]), 'WITHSCORES', 'LIMIT', 0, room - looked)
    for j = 1, #list, 2 do
      if not expired[list[j]] and not seen[list[j]] then
        seen[list[j]] = true
        ids[#ids + 1], scores[#ids + 1], place[#ids + 1] = list[j], number(list[j + 1]), i
      end
    end
    looked = looked + #list / 2
    if looked >= room then
      nextInbox, nextBelow = i, number(list[#list])
      break
    end
    i, upTo = i + 1, text(clock)
  end

  -- Leave out notices that are read, or that an earlier call has counted in an earlier inbox.
  local read = {}
  if state then read = marked(state, ids) end
  for k, key in ipairs(keys) do
    local ask, asked = {}, {}
    for n = 1, #ids do
      if not read[n] and place[n] ~= k and ((inbox > 0 and k < place[n]) or (scores[n] <= highest and above[k] >= scores[n])) then
        ask[#ask + 1] = ids[n]
        asked[#ask] = n
      end
    end
    for first = 1, #ask, CHUNK do
      for j, score in ipairs(redis.call('ZMSCORE', key, unpack(ask, first, math.min(first + CHUNK - 1, #ask)))) do
        if score then read[asked[first + j - 1]] = true end
      end
    end
  end
  local count = 0
  for n = 1, #ids do
    if not read[n] then count = count + 1 end
  end
  if count >= most then return most, 0, 0 end
  return count, nextInbox, nextBelow
end
