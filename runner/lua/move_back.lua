#!lua flags=allow-oom
-- moving -> claimed: the other queue cannot have the task, so its mover settles it here.
-- ARGV 7 id, 8 token
-- RETURNS 'ok' (also when asked again) | 'lost'
-- INVARIANT: only the mover's token; called only when the other queue has not got the task. The counter that the move raised stays raised.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN = ARGV[7], ARGV[8]
local r = load(ID)
if not r or r.token ~= TOKEN then return 'lost' end
if r.state == 'moving' then
  r.state, r.wish = 'claimed', '-'
  save(ID, r)
end
return 'ok'
