-- What a user has read and acked, shared by the scripts that follow; it only defines functions.
--
-- A user has up to two keys in a warehouse:
--   marks   zset   "r <id>" = it has read the notice, "a <id>" = it has acked it → the clock at which it did
--   upto    zset   "<score> <inbox>" = it has read everything in the inbox up to the score → the clock at which it did;
--                  "-" → the clock before which some of these are forgotten
-- A notice that several inboxes hold is read as soon as one of them says so.

local CHUNK = 500

-- How many blocks of ids, and how many ids, may have expired and not been swept while something is read.
local MOST_DUE, MOST_EXPIRED = 100, 1000

-- How many ids one call looks up in all inboxes together, about.
local LOOKUPS = 10000

-- expiredBy finds what has expired and was not swept: a table id → true, and how many that are; nil and an error where that is too
-- much to look through: it is to be swept first.
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

-- bodiesOf reads bodies until they have so many bytes, at least one. It returns them, and how many ids were read.
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

-- readState reads a user's keys for the inboxes of these names and keys.
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

-- watermark is the score up to which everything in the inbox was read at the clock.
local function watermark(state, i, clock)
  local score = 0
  if state then
    for _, mark in ipairs(state.upto[i]) do
      if mark.at <= clock then score = mark.score end
    end
  end
  return score
end

-- marked returns when the ids were marked, false where they were not: two tables in the order of the ids.
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

-- earliest returns the clock at which a notice was first read: when it was marked, or when a watermark of an inbox that holds
-- it came past its score; nil if it was not.
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

-- held finds which inboxes hold the ids: for each id a table inbox → true, and the ids' scores, which are the same everywhere.
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

-- covered returns for each inbox between which scores watermarks came past notices after one clock and up to another, and about how
-- many notices that are. Only those up to a score count.
local function covered(state, after, upTo, last)
  local from, to, many = {}, {}, 0
  for i, key in ipairs(state.keys) do
    from[i], to[i] = watermark(state, i, after), math.min(watermark(state, i, upTo), last)
    if to[i] > from[i] then many = many + redis.call('ZCOUNT', key, '(' .. text(from[i]), text(to[i])) end
  end
  return from, to, many
end

-- between returns what changed after one clock, for notices up to a score that the inboxes hold: a list of {id, kind, clock} in
-- the order of the clock, and the clock up to which it goes: that of the last mark if there are more than most, otherwise now. It
-- returns nothing where that would be too much for one call.
local function between(state, after, now, most, last)
  local upTo, marks, single = now, {}, {}
  if state.some then
    local list = redis.call('ZRANGEBYSCORE', state.marks, '(' .. text(after), '+inf', 'WITHSCORES', 'LIMIT', 0, most + 1)
    local step = 2
    if #list > 2 * most then
      upTo = number(list[2 * most])
      list = redis.call('ZRANGEBYSCORE', state.marks, '(' .. text(after), text(upTo), 'LIMIT', 0, 2 * most + 1)
      if #list > 2 * most then return nil end -- so many at one clock: they were written back
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

  -- What watermarks came past, with the inboxes in which they did.
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
  -- Had those of another inbox come past them before?
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
