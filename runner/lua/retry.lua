#!lua flags=allow-oom
-- claimed -> delayed (or waiting, for a delay of 0): run again, with the counter of the way it ended raised. Takes a chunk.
-- ARGV 7.. per task, 5 each: id, token, delay_ms, counter (1 errors .. 4 ooms, 7 unknown_ms, 0 none), attempt (a JSON line or '')
-- RETURNS a word per task: 'ok' | 'cancelled' (somebody wanted it cancelled) | 'again' | 'lost'
-- INVARIANT: only the holder's token settles; the body's bytes stay the same; a delayed task is in no watched key.
local wrong = stale()
if wrong then return wrong end

local function delay(id, r, delay_ms)
  local body = body_of(id, r)
  if not body then return false end
  if STREAM then call('HSET', BODIES, id, body) end
  drop_entry(r)
  r.state, r.entry = 'delayed', '-'
  call('ZREM', CLAIMS, id)
  call('ZADD', DELAYED, NOW + delay_ms, id)
  return true
end

local function settle(id, token, delay_ms, counter, attempt)
  local r, word = holder(id, token)
  if not r then return word end
  if counter > 0 then bump(r, counter) end
  if r.wish == 'cancel' then
    end_life(id, r, 'cancelled', token, '', attempt)
    return 'cancelled'
  end
  note_attempt(id, attempt)
  count('retried')
  let_go(r)
  -- A body that is gone is told by the next claim, which buries it with that reason.
  if delay_ms <= 0 or not delay(id, r, delay_ms) then hand_back(id, r) end
  save(id, r)
  return 'ok'
end

local words = {}
for i = OWN, #ARGV, 5 do
  words[#words + 1] = settle(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), ARGV[i + 4])
end
return words
