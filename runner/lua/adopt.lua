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
  local state = found and match(found, '^%S+')
  return state == 'done' or state == 'moved'
end

-- The spare id's marker tells a repeated call that this very token found the duplicate.
local function asked_before()
  if ID ~= SPARE and mine(ID) then return 'ok' end
  local _, token = marker_state(SPARE)
  return token == TOKEN and 'duplicate' or 'lost'
end

local r = mine(SPARE)
if not r then return asked_before() end
if (ID ~= SPARE and (load(ID) or answered(ID))) or key_taken() then
  forget(SPARE, r)
  mark('i:' .. SPARE, table.concat({'cancelled', TOKEN, string.format('%.0f', NOW), r.counters, r.life, ''}, ' '))
  count('duplicates')
  return 'duplicate'
end
if KEY ~= '' then
  r.key = KEY
  call('HSET', BUSINESS, KEY, ID)
end
if ID ~= SPARE then
  begin_life(ID, r)
  local attempts = call('HGET', LIVES, SPARE)
  if attempts then
    call('HSET', LIVES, ID, with_attempt(call('HGET', LIVES, ID), attempts))
    call('HDEL', LIVES, SPARE)
  end
  call('HDEL', TASKS, SPARE)
  if r.entry ~= '-' then call('HSET', HELD, alias(r.priority, r.entry), ID) end
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
if KEY ~= '' then supersede(KEY, ID) end
if r.wish == 'adopt' then r.wish = '-' end
save(ID, r)
return 'ok'
