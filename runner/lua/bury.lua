#!lua flags=allow-oom
-- claimed -> dead: to the dead letters with its body, reason, counters and attempts. Takes a chunk.
-- ARGV 7.. per task, 6 each: id, token, reason, detail, counter (1 errors .. 5 releases, 0 none), attempt (a JSON line or '')
-- RETURNS a word per task, in order, as far as it came within about 1 MiB of bodies: 'ok' | 'cancelled' (somebody wanted it cancelled) | 'again' | 'lost'
-- INVARIANT: only the holder's token buries; the body's bytes stay the same.
local wrong = stale()
if wrong then return wrong end

local bytes = 0

local function settle(id, token, reason, detail, counter, attempt)
  local r, word = holder(id, token)
  if not r then return word end
  if counter > 0 then bump(r, counter) end
  if r.wish == 'cancel' then
    end_life(id, r, 'cancelled', token, '', attempt)
    return 'cancelled'
  end
  local body = body_of(id, r)
  bytes = bytes + (body and #body or 0)
  to_dead(id, r, body, reason, detail, token, attempt)
  return 'ok'
end

local words = {}
for i = OWN, #ARGV, 6 do
  words[#words + 1] = settle(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4]), ARGV[i + 5])
  if bytes > CHUNK_BYTES then break end
end
return words
