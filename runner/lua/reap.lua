#!lua flags=allow-oom
-- claimed, moving -> the same: take expired claims over, so that the reaper settles them like any holder, or ends the move. Takes a chunk.
-- ARGV 7 token stem (the n-th task gets stem:n), 8 limit, 9 the reaper's own lease in ms
-- RETURNS {now_ms, row, ...}, a row per task: the length of its line in `held`, a space, that line (started_ms holder progress id), its record.
--   One text per row: redis-py spends more on reading eight than the server on all of this.
-- INVARIANT: nothing is settled here: a reaper that dies leaves claims that expire again, with who held them; the old token can change
--   nothing; asking again with the same stem answers the same.
local wrong = stale()
if wrong then return wrong end
local STEM, LIMIT, REAPER_MS = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

local function row(by, record) return #by .. ' ' .. by .. record end

local function answered_before()
  local rows = {NOW}
  for i = 1, LIMIT do
    local by = call('HGET', HELD, STEM .. ':' .. i)
    if not by then break end
    rows[i + 1] = row(by, call('HGET', TASKS, match(by, '^%S+ %S+ %S+ (.*)$')))
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
  local head, token, tail = match(records[i] or '', '^(claimed %S+ %S+ %S+ %S+ %S+ %S+ )(%S+)( .*)$')
  if not head then head, token, tail = match(records[i] or '', '^(moving %S+ %S+ %S+ %S+ %S+ %S+ )(%S+)( .*)$') end
  if head then
    taken[#taken + 1] = {ids[i], head, tail}
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
  local id, token = taken[i][1], STEM .. ':' .. i
  local record, by = taken[i][2] .. token .. taken[i][3], held[i] or '0 - - ' .. id
  lines[2 * i - 1], lines[2 * i] = id, record
  claims[2 * i - 1], claims[2 * i] = expiry, id
  holders[2 * i - 1], holders[2 * i] = token, by
  rows[i + 1] = row(by, record)
end
call('HSET', TASKS, unpack(lines))
call('ZADD', CLAIMS, unpack(claims))
call('HDEL', HELD, unpack(tokens))
call('HSET', HELD, unpack(holders))
return rows
