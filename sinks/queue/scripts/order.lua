-- The order of service across several ready lists. Reads several sorted sets as one, by (score, source, member). A set
-- is {key, source, ordered, placed, rank, score}. Reading begins at rank. score is the score of the first member,
-- if it is known. If placed is true, each member begins with its place, and the place is used as the score.

local PART = 100 -- members that one command reads
local SLASH = 47 -- the second last byte of a source of items with an order

-- sources returns the ready lists of a level that have items in a scope, sorted by their first scores. For the scope *
-- it returns at most "most" lists; 0 = all.
local function sources(level, scope, most)
  local list, heads = {}, headsKey(level)
  local function add(name, score)
    list[#list + 1] = { key = readyKey(level, name), source = name, ordered = byte(name, -2) == SLASH, rank = 0, score = score }
  end
  if scope == '*' then
    local all = rcall('ZRANGE', heads, 0, most - 1, 'WITHSCORES')
    for i = 1, #all, 2 do add(all[i], all[i + 1] + 0) end
    return list
  end
  local names = {}
  for _, warehouse in ipairs(split(scope)) do
    names[#names + 1] = warehouse
    names[#names + 1] = warehouse .. '/o'
  end
  for first = 1, #names, CHUNK do
    local last = math.min(first + CHUNK - 1, #names)
    for i, score in ipairs(rcall('ZMSCORE', heads, unpack(names, first, last))) do
      if score then add(names[first + i - 1], score + 0) end
    end
  end
  table.sort(list, function(a, b)
    if a.score ~= b.score then return a.score < b.score end
    return a.source < b.source
  end)
  return list
end

-- merging reads the sets from their ranks on. It returns a function that returns the next {set, member, score} in
-- order, at most PART of them, and an empty list at the end. Each set is read in parts of its own, so the number of
-- commands does not depend on the order of the members. A set whose first score is known is not read before its turn.
local function merging(sets, lexical)
  -- queue: the sets that have a current member, sorted by it
  local part, queue = math.ceil(PART / math.max(#sets, 1)) + 1, {}
  local function before(a, b)
    if lexical then return a.member < b.member end
    if a.score ~= b.score then return a.score < b.score end
    return a.source < b.source
  end

  -- following makes the next member of a set the current one. It returns false at the end.
  local function following(set)
    if set.some then set.at = set.at + 2 end
    if not set.some or not set.some[set.at] and #set.some == 2 * part then
      set.some, set.at = rcall('ZRANGE', set.key, set.rank, set.rank + part - 1, 'WITHSCORES'), 1
      set.rank = set.rank + part
    end
    set.member, set.score = set.some[set.at], (set.some[set.at + 1] or 0) + 0
    if set.placed and set.member then set.score = match(set.member, '^%d+') - MIDDLE end
    return set.member
  end

  -- enqueue inserts a set into the queue, behind all sets that come before it.
  local function enqueue(set)
    local low, high = 1, #queue + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if before(set, queue[middle]) then high = middle else low = middle + 1 end
    end
    table.insert(queue, low, set)
  end

  for _, set in ipairs(sets) do
    if set.score or following(set) then enqueue(set) end
  end
  return function()
    local some = {}
    while queue[1] and #some < PART do
      local set = table.remove(queue, 1)
      if set.some or following(set) then
        some[#some + 1] = { set = set, member = set.member, score = set.score }
        if following(set) then enqueue(set) end
      end
    end
    return some
  end
end

-- serve removes up to "most" members from the ready lists of one level, in the order of service. It returns the members
-- and their scores. scores.named is true if a member may have more than the id.
local function serve(level, scope, most)
  local list, members, scores = sources(level, scope, most), {}, {}
  if #list == 0 then return members, scores end
  if #list == 1 or most == 1 then
    local one = list[1]
    local popped = rcall('ZPOPMIN', one.key, most)
    for i = 1, #popped, 2 do
      members[#members + 1] = popped[i]
      scores[#scores + 1] = popped[i + 1]
    end
    scores.named = one.ordered
    forget(level, one.source, members)
    return members, scores
  end
  local following, taken = merging(list), {}
  while #members < most do
    local some = following()
    if #some == 0 then break end
    for _, one in ipairs(some) do
      local set = one.set
      scores.named = scores.named or set.ordered
      if #members == most then
        set.first = set.first or one.score
      else
        members[#members + 1], scores[#scores + 1] = one.member, one.score
        if not set.taken then
          set.taken = {}
          taken[#taken + 1] = set
        end
        set.taken[#set.taken + 1] = one.member
      end
    end
  end
  local firsts, empty = {}, {}
  for _, set in ipairs(taken) do
    rcall('ZREMRANGEBYRANK', set.key, 0, #set.taken - 1)
    leave(level, set.source, set.taken, set.first or set.member and set.score, firsts, empty)
  end
  each('ZADD', headsKey(level), firsts)
  each('ZREM', headsKey(level), empty)
  return members, scores
end
