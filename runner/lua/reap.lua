#!lua flags=allow-oom
-- claimed -> claimed: take expired claims over, so that the reaper settles them like any holder. Takes a chunk.
-- ARGV 7 token stem (the n-th task gets stem:n), 8 limit, 9 the reaper's own lease in ms
-- RETURNS {id, token, priority, first_ms, counters, wish, started_ms, holder} per task
-- INVARIANT: nothing is settled here: a reaper that dies leaves claims that expire again; the old token can change nothing.
local wrong = stale()
if wrong then return wrong end
local STEM, LIMIT, REAPER_MS = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
hear()
local ids = call('ZRANGEBYSCORE', CLAIMS, 1, NOW, 'LIMIT', 0, LIMIT)
local taken = {}
for i = 1, #ids do
  local id = ids[i]
  local r = load(id)
  if r and r.state == 'claimed' then
    local started, by = match(call('HGET', HELD, r.token) or '', '^(%S+) (%S+)')
    call('HDEL', HELD, r.token)
    r.token = STEM .. ':' .. i
    save(id, r)
    call('ZADD', CLAIMS, NOW + REAPER_MS, id)
    taken[#taken + 1] = {id, r.token, r.priority, r.first, r.counters, r.wish, started or '0', by or '-'}
  else
    call('ZREM', CLAIMS, id)
  end
end
return taken
