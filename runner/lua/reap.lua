#!lua flags=allow-oom
-- claimed -> claimed: take expired claims over, so that the reaper settles them like any holder. Takes a chunk.
-- ARGV 7 token stem (the n-th task gets stem:n), 8 limit, 9 the reaper's own lease in ms
-- RETURNS {now_ms, row, ...}, a row per task: priority first_ms counters wish started_ms holder token id, in one line of words, the id its rest.
--   One text per row: redis-py spends more on reading eight than the server on all of this.
-- INVARIANT: nothing is settled here: a reaper that dies leaves claims that expire again, with who held them; the old token can change
--   nothing; asking again with the same stem answers the same.
local wrong = stale()
if wrong then return wrong end
local STEM, LIMIT, REAPER_MS = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

local function answered_before()
  local rows = {NOW}
  for i = 1, LIMIT do
    local token = STEM .. ':' .. i
    local started, by, id = match(call('HGET', HELD, token) or '', '^(%S+) (%S+) %S+ (.*)$')
    if not id then break end
    local r = load(id)
    rows[i + 1] = table.concat({r.priority, r.first, r.counters, r.wish, started, by, token, id}, ' ')
  end
  return rows
end

if call('HEXISTS', HELD, STEM .. ':1') == 1 then return answered_before() end
hear()
local ids = call('ZRANGEBYSCORE', CLAIMS, 1, reapable(), 'LIMIT', 0, LIMIT)
if #ids == 0 then return {NOW} end
local records = call('HMGET', TASKS, unpack(ids))
local taken, tokens, gone = {}, {}, {}
for i = 1, #ids do
  -- Not `parse`: all but the token stays, and this is the reaper's price per task.
  local head, priority, first, counters, wish, token, tail = match(records[i] or '', '^(claimed (%S+) %S+ (%S+) (%S+) %S+ (%S+) )(%S+)( .*)$')
  if head then
    taken[#taken + 1] = {ids[i], head, tail, priority, first, counters, wish}
    tokens[#tokens + 1] = token
  else
    gone[#gone + 1] = ids[i]
  end
end
if #gone > 0 then call('ZREM', CLAIMS, unpack(gone)) end
if #taken == 0 then return {NOW} end

local held, expiry = call('HMGET', HELD, unpack(tokens)), NOW + REAPER_MS
local lines, claims, holders, rows = {}, {}, {}, {NOW}
for i = 1, #taken do
  local id, head, tail, priority, first, counters, wish = unpack(taken[i])
  local started, by = match(held[i] or '', '^(%S+) (%S+)')
  local token = STEM .. ':' .. i
  lines[2 * i - 1], lines[2 * i] = id, head .. token .. tail
  claims[2 * i - 1], claims[2 * i] = expiry, id
  holders[2 * i - 1], holders[2 * i] = token, table.concat({started or '0', by or '-', '-', id}, ' ')
  rows[i + 1] = table.concat({priority, first, counters, wish, started or '0', by or '-', token, id}, ' ')
end
call('HSET', TASKS, unpack(lines))
call('ZADD', CLAIMS, unpack(claims))
call('HDEL', HELD, unpack(tokens))
call('HSET', HELD, unpack(holders))
return rows
