#!lua flags=allow-oom
-- moving -> (waiting in another queue): this queue forgets the task; its marker says where it went.
-- ARGV 7 id, 8 token, 9 the other queue's name
-- RETURNS 'ok' | 'again' (this token did it before) | 'lost'
-- INVARIANT: only the mover's token; called only when the other queue has the task.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN, TO = ARGV[7], ARGV[8], ARGV[9]
local r = load(ID)
if r and r.state == 'moving' and r.token == TOKEN then
  end_life(ID, r, 'moved', TOKEN, TO, '')
  return 'ok'
end
local _, settled = marker_state(ID)
return not r and settled == TOKEN and 'again' or 'lost'
