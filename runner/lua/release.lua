#!lua flags=allow-oom
-- claimed -> waiting: hand back unburnt; entry, id and place stay.
-- ARGV 7 id, 8 token, 9 attempt (a JSON line)
-- RETURNS 'ok' | 'cancelled' (somebody wanted it cancelled) | 'again' | 'lost'
-- INVARIANT: only the holder's token releases; no counter but `releases` moves.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN, ATTEMPT = ARGV[7], ARGV[8], ARGV[9]
local r, word = holder(ID, TOKEN)
if not r then return word end
if r.wish == 'cancel' then
  end_life(ID, r, 'cancelled', TOKEN, '', ATTEMPT)
  return 'cancelled'
end
bump(r, 5)
note_attempt(ID, ATTEMPT)
count('released')
let_go(r)
hand_back(ID, r)
save(ID, r)
return 'ok'
