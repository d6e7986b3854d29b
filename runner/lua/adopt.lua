#!lua flags=allow-oom
-- claimed -> claimed: give a bare push, held under a spare id, the id and key that its body names.
-- ARGV 7 spare id, 8 token, 9 the body's id, 10 the body's business key ('' none)
-- RETURNS 'ok' | 'duplicate' (settled unrun: that id or key is there already, or done) | 'lost'
-- INVARIANT: asking again answers the same; the body moves with the id.
local wrong = stale()
if wrong then return wrong end
local SPARE, TOKEN, ID, KEY = ARGV[7], ARGV[8], ARGV[9], ARGV[10]

local function mine(id)
  local r = load(id)
  if r and r.state == 'claimed' and r.token == TOKEN then return r end
end

local function key_taken()
  if KEY == '' then return false end
  local live = call('HGET', BUSINESS, KEY)
  if live then return live ~= ID end
  local found = find_marker('k:' .. KEY)
  return found and match(found, '^%S+') == 'done'
end

local r = mine(SPARE)
if not r then return ID ~= SPARE and mine(ID) and 'ok' or 'lost' end
local other = ID ~= SPARE and load(ID)
-- Met again after the group was made anew: the same entry is already held under its own id, so only the second record goes.
if other and other.entry == r.entry and r.entry ~= '-' then r.entry = '-' end
if other or (ID ~= SPARE and marker_state(ID) == 'done') or key_taken() then
  forget(SPARE, r)
  count('duplicates')
  return 'duplicate'
end
if KEY ~= '' then
  r.key = KEY
  call('HSET', BUSINESS, KEY, ID)
end
if ID ~= SPARE then
  begin_life(ID, r)
  call('HDEL', TASKS, SPARE)
  call('ZADD', CLAIMS, call('ZSCORE', CLAIMS, SPARE), ID)
  call('ZREM', CLAIMS, SPARE)
  local started, by, progress = match(call('HGET', HELD, TOKEN) or '', '^(%S+) (%S+) (%S+)')
  if started then call('HSET', HELD, TOKEN, table.concat({started, by, progress, ID}, ' ')) end
  local body = call('HGET', BODIES, SPARE)
  if body then
    call('HSET', BODIES, ID, body)
    call('HDEL', BODIES, SPARE)
  end
end
if r.wish == 'adopt' then r.wish = '-' end
save(ID, r)
return 'ok'
