#!lua flags=allow-oom
-- claimed -> moving: what ran out of memory leaves for the queue with bigger pods. The first of two moves; the body stays until `move_done`.
-- ARGV 7 id, 8 token, 9 the other queue's name, 10 attempt (a JSON line or ''), 11 the mover's lease in ms
-- RETURNS {'moving', the other queue, move, priority, first_ms, counters, life, key, body, attempts}, also to whoever took a moving task over
--   | {'bodiless'} (nothing changed) | {'cancelled'} (somebody wanted it cancelled) | {'again'} | {'lost'}
--   `move` names this move for ever: the token that began it.
-- INVARIANT: a mover that dies leaves a claim that expires; whoever reaps it goes on here. Nothing of the task leaves this queue.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN, TO, ATTEMPT, MOVER_MS = ARGV[7], ARGV[8], ARGV[9], ARGV[10], tonumber(ARGV[11])

local function answer(r, body)
  return {'moving', string.sub(r.wish, 4), r.last, r.priority, r.first, r.counters, r.life, r.key, body, call('HGET', LIVES, ID) or ''}
end

local known = load(ID)
if known and known.state == 'moving' and known.token == TOKEN then
  call('ZADD', CLAIMS, NOW + MOVER_MS, ID)
  return answer(known, body_of(ID, known) or '')
end
local r, word = holder(ID, TOKEN, known)
if not r then return {word} end
if r.wish == 'cancel' then
  bump(r, 4)
  end_life(ID, r, 'cancelled', TOKEN, '', ATTEMPT)
  return {'cancelled'}
end
local body = body_of(ID, r)
if not body then return {'bodiless'} end
bump(r, 4)
note_attempt(ID, ATTEMPT)
r.state, r.wish, r.last = 'moving', 'to:' .. TO, TOKEN
call('ZADD', CLAIMS, NOW + MOVER_MS, ID)
save(ID, r)
return answer(r, body)
