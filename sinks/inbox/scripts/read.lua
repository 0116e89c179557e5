-- The notices that a user has read and acked. It only defines functions, for the scripts that follow.
--
-- A user has up to two keys in a warehouse:
--   marks   zset   "r <id>" = the user has read the notice, "a <id>" = the user has acked it → the clock at that moment
--   upto    zset   "<score> <inbox>" = the user has read everything in the inbox up to the score → the clock at that
--                  moment;
--                  "-" → the clock before which some of these entries are forgotten
-- A notice in several inboxes is read as soon as one of them counts it as read.

local CHUNK = 500

-- How many blocks of ids, and how many ids, may have expired without being swept when a script reads.
local MOST_DUE, MOST_EXPIRED = 100, 1000

-- About how many ids one call looks up, in all inboxes together.
local LOOKUPS = 10000

-- expiredBy finds expired notices that were not swept. It returns a table id → true, and their number. It returns nil
-- and an error if there are too many to look through: then they must be swept first.
local function expiredBy(expiry, now)
  local due = redis.call('ZRANGEBYSCORE', expiry, '-inf', text(now), 'LIMIT', 0, MOST_DUE + 1)
  local expired, many = {}, 0
  for _, block in ipairs(due) do
    for id in string.gmatch(block, '%S+') do
      expired[id] = true
      many = many + 1
    end
  end
  if #due > MOST_DUE or many > MOST_EXPIRED then return nil, redis.error_reply('DUE ' .. many) end
  return expired, many
end

-- bodiesOf reads bodies, at least one, until they have "most" bytes. It returns the bodies, and how many ids it has
-- read.
local function bodiesOf(notices, ids, most)
  local PART, out, bytes = 20, {}, 0
  for from = 1, #ids, PART do
    for _, body in ipairs(redis.call('HMGET', notices, unpack(ids, from, math.min(from + PART - 1, #ids)))) do
      if #out > 0 and bytes >= most then return out, #out end
      out[#out + 1] = body or ''
      bytes = bytes + #out[#out]
    end
  end
  return out, #out
end

-- readState reads a user's marks and watermarks for the inboxes with these names and keys.
local function readState(marks, upto, names, keys)
  local state = {marks = marks, keys = keys, upto = {}, forgotten = 0, some = redis.call('EXISTS', marks) == 1}
  local place = {}
  for i, name in ipairs(names) do
    state.upto[i] = {}
    place[name] = i
  end
  local list = redis.call('ZRANGE', upto, 0, -1, 'WITHSCORES')
  for j = 1, #list, 2 do
    local at = number(list[j + 1])
    if list[j] == '-' then
      state.forgotten = at
    else
      local score, inbox = string.match(list[j], '^(%d+) (.+)$')
      local i = place[inbox]
      if i then table.insert(state.upto[i], {score = tonumber(score), at = at}) end
    end
  end
  for i = 1, #names do
    table.sort(state.upto[i], function(a, b) return a.score < b.score end)
  end
  return state
end

-- watermark returns the score up to which everything in the inbox was read at the clock.
local function watermark(state, i, clock)
  local score = 0
  if state then
    for _, mark in ipairs(state.upto[i]) do
      if mark.at <= clock then score = mark.score end
    end
  end
  return score
end

-- marked returns when the ids were read, and when they were acked: two tables in the order of the ids, false where
-- there is no mark.
local function marked(state, ids)
  local read, acked = {}, {}
  if not state.some then return read, acked end
  for from = 1, #ids, CHUNK do
    local members = {}
    local to = math.min(from + CHUNK - 1, #ids)
    for i = from, to do
      members[#members + 1] = 'r ' .. ids[i]
      members[#members + 1] = 'a ' .. ids[i]
    end
    local found = redis.call('ZMSCORE', state.marks, unpack(members))
    for i = from, to do
      local at = 2 * (i - from) + 1
      read[i] = found[at] and number(found[at])
      acked[i] = found[at + 1] and number(found[at + 1])
    end
  end
  return read, acked
end

-- earliest returns the clock at which a notice was first read: by its mark, or by a watermark of an inbox that holds
-- it. It returns nil if the notice is unread.
local function earliest(state, marks, holders, score)
  local first = marks or nil
  for i in pairs(holders) do
    local list = state.upto[i]
    local low, high = 1, #list + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if list[middle].score >= score then high = middle else low = middle + 1 end
    end
    if list[low] and (not first or list[low].at < first) then first = list[low].at end
  end
  return first
end

-- held returns for each id a table of the inboxes that hold it (inbox → true), and the ids' scores, which are the same
-- in all inboxes.
local function held(keys, ids)
  local holders, scores = {}, {}
  for i = 1, #ids do holders[i] = {} end
  for k, key in ipairs(keys) do
    for from = 1, #ids, CHUNK do
      local found = redis.call('ZMSCORE', key, unpack(ids, from, math.min(from + CHUNK - 1, #ids)))
      for j = 1, #found do
        if found[j] then
          holders[from + j - 1][k] = true
          scores[from + j - 1] = number(found[j])
        end
      end
    end
  end
  return holders, scores
end

-- covered returns for each inbox the scores between which its watermark moved, after one clock and up to another. It
-- also returns about how many notices lie there. Scores above "last" do not count.
local function covered(state, after, upTo, last)
  local from, to, many = {}, {}, 0
  for i, key in ipairs(state.keys) do
    from[i], to[i] = watermark(state, i, after), math.min(watermark(state, i, upTo), last)
    if to[i] > from[i] then many = many + redis.call('ZCOUNT', key, '(' .. text(from[i]), text(to[i])) end
  end
  return from, to, many
end

-- between returns the changes after one clock, for notices that the inboxes hold up to the score "last". It returns a
-- list of {id, kind, clock} in the order of the clock, and the clock up to which the list is complete. This is the
-- clock of the last listed mark if there are more than "most" marks, else now. It returns nothing if this would be too
-- much work for one call.
local function between(state, after, now, most, last)
  local upTo, marks, single = now, {}, {}
  if state.some then
    local list = redis.call('ZRANGEBYSCORE', state.marks, '(' .. text(after), '+inf', 'WITHSCORES', 'LIMIT', 0, most + 1)
    local step = 2
    if #list > 2 * most then
      upTo = number(list[2 * most])
      list = redis.call('ZRANGEBYSCORE', state.marks, '(' .. text(after), text(upTo), 'LIMIT', 0, 2 * most + 1)
      if #list > 2 * most then return nil end -- so many marks with one clock were written back
      step = 1
    end
    for j = 1, #list, step do
      local id = string.sub(list[j], 3)
      if not single[id] then
        single[id] = true
        marks[#marks + 1] = id
      end
    end
  end
  local ids, holders, scores = marks, held(state.keys, marks)

  -- Notices that watermarks have passed, with the inboxes of these watermarks.
  local from, to = covered(state, after, upTo, last)
  local place, first = {}, #marks + 1
  for i, key in ipairs(state.keys) do
    local list = {}
    if to[i] > from[i] then list = redis.call('ZRANGEBYSCORE', key, '(' .. text(from[i]), text(to[i]), 'WITHSCORES') end
    for j = 1, #list, 2 do
      local id = list[j]
      if not single[id] then
        local n = place[id]
        if not n then
          n = #ids + 1
          ids[n], place[id], holders[n], scores[n] = id, n, {}, number(list[j + 1])
        end
        holders[n][i] = true
      end
    end
  end
  -- Did a watermark of another inbox pass these notices earlier?
  local lookups = 0
  for i, key in ipairs(state.keys) do
    local ask, asked = {}, {}
    for n = first, #ids do
      if scores[n] <= from[i] then
        ask[#ask + 1] = ids[n]
        asked[#ask] = n
      end
    end
    lookups = lookups + #ask
    if lookups > 2 * LOOKUPS then return nil end
    for start = 1, #ask, CHUNK do
      for j, score in ipairs(redis.call('ZMSCORE', key, unpack(ask, start, math.min(start + CHUNK - 1, #ask)))) do
        if score then holders[asked[start + j - 1]][i] = true end
      end
    end
  end

  local changes = {}
  local read, acked = marked(state, ids)
  for i, id in ipairs(ids) do
    if scores[i] and scores[i] <= last then
      local at = earliest(state, read[i], holders[i], scores[i])
      if acked[i] and acked[i] > after and acked[i] <= upTo then
        changes[#changes + 1] = {id, 'acked', acked[i]}
      elseif at and at > after and at <= upTo then
        changes[#changes + 1] = {id, 'read', at}
      end
    end
  end
  table.sort(changes, function(a, b) return a[3] < b[3] end)
  return changes, upTo
end
