#!lua flags=allow-oom
-- claimed -> claimed: a heartbeat.
-- ARGV 7 id, 8 token, 9 progress ('-' none, no spaces)
-- RETURNS 'ok' | 'cancel' (extended, and somebody wants it cancelled) | 'lost'
-- INVARIANT: only the holder's token extends a claim.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN, PROGRESS = ARGV[7], ARGV[8], ARGV[9]
hear()
local r = holder(ID, TOKEN)
if not r then return 'lost' end
call('ZADD', CLAIMS, NOW + LEASE_MS, ID)
local started, by, progress = match(call('HGET', HELD, TOKEN) or '', '^(%S+) (%S+) (%S+)')
if started and progress ~= PROGRESS then call('HSET', HELD, TOKEN, table.concat({started, by, PROGRESS, ID}, ' ')) end
return r.wish == 'cancel' and 'cancel' or 'ok'
