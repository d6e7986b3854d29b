#!lua flags=allow-oom
-- claimed -> claimed: take expired claims over, so that the reaper settles them like any holder. Takes a chunk.
-- ARGV 7 token stem (the n-th task gets stem:n), 8 limit, 9 the reaper's own lease in ms
-- RETURNS {now_ms, row, ...}, a row per task: priority first_ms counters wish started_ms holder token id, in one line of words, the id its rest.
--   One text per row: redis-py spends more on reading eight than the server on all of this.
-- INVARIANT: nothing is settled here: a reaper that dies leaves claims that expire again; the old token can change nothing.
local wrong = stale()
if wrong then return wrong end
local STEM, LIMIT, REAPER_MS = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
hear()
local ids = call('ZRANGEBYSCORE', CLAIMS, 1, NOW, 'LIMIT', 0, LIMIT)
if #ids == 0 then return {NOW} end
local lines, taken, gone = call('HMGET', TASKS, unpack(ids)), {}, {}
for i = 1, #ids do
  local r = parse(lines[i])
  if r and r.state == 'claimed' then taken[#taken + 1] = {ids[i], r} else gone[#gone + 1] = ids[i] end
end
if #gone > 0 then call('ZREM', CLAIMS, unpack(gone)) end
if #taken == 0 then return {NOW} end

local tokens, records, claims, rows = {}, {}, {}, {NOW}
for i = 1, #taken do tokens[i] = taken[i][2].token end
local held = call('HMGET', HELD, unpack(tokens))
for i = 1, #taken do
  local id, r = taken[i][1], taken[i][2]
  local started, by = match(held[i] or '', '^(%S+) (%S+)')
  r.token = STEM .. ':' .. i
  records[2 * i - 1], records[2 * i] = id, line(r)
  claims[2 * i - 1], claims[2 * i] = NOW + REAPER_MS, id
  rows[i + 1] = table.concat({r.priority, r.first, r.counters, r.wish, started or '0', by or '-', r.token, id}, ' ')
end
call('HSET', TASKS, unpack(records))
call('ZADD', CLAIMS, unpack(claims))
call('HDEL', HELD, unpack(tokens))
return rows
