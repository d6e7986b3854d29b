#!lua
-- dead -> dead, or done -> done, and a new task of the same bytes -> waiting: an ended task runs again under a new id that keeps a line about the old one.
-- ARGV 7 id of the dead or done task, 8 new id, 9 attempt (the line, JSON)
-- RETURNS 'ok' (also when asked again) | the state that cannot be run again: 'waiting', 'delayed', 'claimed', 'done' (its body is not kept), 'cancelled' | 'unknown'
-- INVARIANT: what is kept of the old task is not touched; the new task is made once, however often it is asked for.
local wrong = stale()
if wrong then return wrong end
local OLD, NEW, ATTEMPT = ARGV[7], ARGV[8], ARGV[9]
if load(NEW) or marker_state(NEW) or call('HEXISTS', BURIED, NEW) == 1 then return 'ok' end
local live = load(OLD)
if live then return live.state end
local f = dead_fields(match(call('HGET', BURIED, OLD) or '0-1', '^(%S+)'))
local body, priority
if f then body, priority = f.body, f.priority else body, priority = kept_body(OLD) end
if not body then return marker_state(OLD) or 'unknown' end
local r = fresh(declared(priority), '-', NOW)
call('HSET', LIVES, NEW, ATTEMPT)
add_waiting(NEW, r, body)
save(NEW, r)
count('submitted')
return 'ok'
