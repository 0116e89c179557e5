-- What the scripts of a queue share: Go puts this before the text of each. All of them declare the keys of the queue first
-- and begin with the same arguments.
--
-- KEYS 1 meta       hash    epoch     in force
--                           paused    1: nothing is leased; paused_by, paused_at: who changed that, and when, µs
--                           due       no lease ends and nothing becomes ready before it, µs; 0 or absent = there is nothing
--                           out       number of the last entry of the outbox, counted from the epoch's beginning
--                           drained   number of the last entry that was taken out of it
--                           moved     how many moves those entries had
--                           first, last   the lowest and the highest place given in assigned
--                           repairs, repaired   see repair.lua
--                           r0 … r30  what moved of late, see tally
--      2 items      hash    id → head, newline, payload: see value.go
--      3 … 7 ready  list    ids in the order of service, levels 5 … 1; those that are ready for anybody, and no others
--      8 assigned   zset    "worker level place id" at score 0, ready for one worker alone; level counts from 0 = priority 5
--      9 leased     zset    id → end of the lease, µs
--     10 delayed, 11 suspended, 12 stored   zset   id → when it becomes ready, µs
--     13 dead       zset    id → when it died, µs
--     14 dedupe     hash    bucket → "until id"; until in µs, 0 = until the item has ended
--     15 windows    zset    bucket → when its entry is of no use any more, µs
--     16 outbox     list    entries: a line "at node moved", the last as it was before; then for each move a line
--                           "seq n from to attempt failures suspends due assignee by note": states as letters, by and
--                           note escaped as in a URL's query, - for an empty text
-- ARGV 1 epoch that the caller believes in
--      2 now, µs; 0 = the server's TIME

local META, ITEMS, ASSIGNED, LEASED, DEDUPE, WINDOWS, OUTBOX =
  KEYS[1], KEYS[2], KEYS[8], KEYS[9], KEYS[14], KEYS[15], KEYS[16]

-- The zsets of items that wait for a time, and of the dead, by the letter of the state.
local TIMED = { y = KEYS[10], s = KEYS[11], t = KEYS[12], x = KEYS[13] }

-- How many arguments one call takes: unpack needs room on Lua's stack. It is even, so that pairs stay together.
local CHUNK = 1000

-- How many bytes of values one call leases or takes back, about, and how many items are looked at before that is asked again: large items
-- come in several calls.
local MOST_BYTES, PART = 4000000, 20

-- A due time so near, in µs, is hinted at: those who wait look by themselves only so often.
local SOON = 5000000

-- The middle of the places in assigned, which have 16 digits.
local MIDDLE = 5000000000000000

-- What moved is counted in slots of so many µs: the one that is being filled, and those of five minutes before it.
local SLOT, SLOTS = 10000000, 31

local rcall, match, gsub = redis.call, string.match, string.gsub

-- A number as Redis and Go read it. Numbers never become text through Lua's .., which rounds them.
local function text(n) return string.format('%.0f', n) end

local function epochError(found) return redis.error_reply('EPOCH ' .. (found or 'none')) end

local function clock()
  local now = tonumber(ARGV[2])
  if now == 0 then
    local t = rcall('TIME')
    now = t[1] * 1000000 + t[2]
  end
  return now
end

-- each runs a command on a key with any number of arguments, and returns what the last call answered.
local function each(command, key, args)
  local n, answer = #args, nil
  if n > 0 and n <= CHUNK then return rcall(command, key, unpack(args)) end
  for i = 1, n, CHUNK do
    answer = rcall(command, key, unpack(args, i, math.min(i + CHUNK - 1, n)))
  end
  return answer
end

-- mget reads fields of a hash: list[first … last], in a table that begins at 1.
local function mget(key, list, first, last)
  if last < first then return {} end
  if last - first < CHUNK then return rcall('HMGET', key, unpack(list, first, last)) end
  local all, n = {}, 0
  for i = first, last, CHUNK do
    for _, v in ipairs(rcall('HMGET', key, unpack(list, i, math.min(i + CHUNK - 1, last)))) do
      n = n + 1
      all[n] = v
    end
  end
  return all
end

local function readyKey(priority) return KEYS[8 - priority] end

-- member is how an item that is ready for one worker alone stands in assigned.
local function member(worker, priority, place, id)
  return worker .. ' ' .. (5 - priority) .. ' ' .. place .. ' ' .. id
end

-- tally counts what a call has moved: items pushed and done, attempts that failed, items that died of it. A slot is a text
-- "number pushed done failed dead"; that of 310 s ago gives up its place.
local function tally(now, pushed, done, failed, dead)
  if pushed + done + failed == 0 then return end
  local slot = math.floor(now / SLOT)
  local field = 'r' .. text(slot % SLOTS)
  local number, p, d, f, x = match(rcall('HGET', META, field) or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if number ~= text(slot) then p, d, f, x = 0, 0, 0, 0 end
  rcall('HSET', META, field, text(slot) .. ' ' .. text(p + pushed) .. ' ' .. text(d + done) .. ' ' .. text(f + failed) .. ' ' .. text(x + dead))
end
