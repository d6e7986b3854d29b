#!lua flags=no-writes
-- What is known of one id, and nothing changed.
-- ARGV 7 id
-- RETURNS {} for an unknown id, else field, value, ...: state, priority, first_ms, counters, life, key, wish, and by state:
--   due_ms, expires_ms, holder, started_ms, progress, lease_until_ms, ended_ms, result, reason, detail, entry, body, attempts
local wrong = stale()
if wrong then return wrong end
local ID = ARGV[7]
local out = {}

local function add(...)
  for i = 1, select('#', ...), 2 do
    local name, value = select(i, ...)
    if value then out[#out + 1] = name; out[#out + 1] = value end
  end
end

local r = load(ID)
if r then
  add('state', r.state, 'priority', r.priority, 'first_ms', r.first, 'counters', r.counters, 'life', r.life, 'key', r.key, 'wish', r.wish)
  local lease = tonumber(call('ZSCORE', CLAIMS, ID) or nil)
  add('entry', r.entry, 'due_ms', call('ZSCORE', DELAYED, ID), 'expires_ms', call('ZSCORE', EXPIRIES, ID), 'lease_until_ms', lease and spared_to(lease))
  local started, by, progress = match(call('HGET', HELD, r.token) or '', '^(%S+) (%S+) (%S+)')
  add('started_ms', started, 'holder', by, 'progress', progress, 'body', body_of(ID, r), 'attempts', call('HGET', LIVES, ID))
  return out
end
local buried = call('HGET', BURIED, ID)
local f = buried and dead_fields(match(buried, '^(%S+)'))
if f then
  f.id, f.entry = nil, match(buried, '^(%S+)')
  add('state', 'dead', 'ended_ms', match(f.entry, '^%d+'))
  for name, value in pairs(f) do add(name, value) end
  return out
end
local found, bucket = find_marker('i:' .. ID)
if found then
  local state, _, ended, counters, life, result = match(found, '^(%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  add('state', state, 'ended_ms', ended, 'counters', counters, 'life', life, 'result', result, 'attempts', call('HGET', bucket, 'l:' .. ID))
  if state == 'done' then add('body', (kept_body(ID))) end
end
return out
