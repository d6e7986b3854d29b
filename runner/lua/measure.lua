#!lua flags=no-writes
-- A queue's lengths and ages, for status and for the controller's line; nothing changed.
-- RETURNS field, value, ...: now_ms, waiting, waiting:PRIORITY.., delayed, claimed, expired_claims, dead, mislaid,
--   oldest_waiting_ms, next_due_ms, then `counts` as stored. `mislaid`: records of waiting tasks without an entry, at least so many
local wrong = stale()
if wrong then return wrong end
local out, waiting, oldest = {'now_ms', NOW}, 0, nil
local released = STREAM and call('ZCOUNT', CLAIMS, '-inf', 0) or 0
local claimed = call('ZCOUNT', CLAIMS, 1, '+inf')

local function older(ms) if ms and (not oldest or ms < oldest) then oldest = ms end end

local function last_delivered(key)
  local groups = redis.pcall('XINFO', 'GROUPS', key)
  for _, group in ipairs(groups.err and {} or groups) do
    local at = {}
    for i = 1, #group, 2 do at[group[i]] = group[i + 1] end
    if at.name == GROUP then return at['last-delivered-id'] end
  end
  return '0-0'
end

for _, name in ipairs(NAMES) do
  local key, length = WATCHED[name], 0
  if STREAM then
    length = call('XLEN', key)
    local head = call('XRANGE', key, '(' .. last_delivered(key), '+', 'COUNT', 1)[1]
    if head then older(tonumber(match(head[1], '^%d+'))) end
  else
    length = call('LLEN', key)
    local head = call('LINDEX', key, -1)
    local r = head and load(match(head, '^ref:(.*)$') or '')
    if r then older(tonumber(r.first)) end
  end
  waiting = waiting + length
  out[#out + 1] = 'watched:' .. name
  out[#out + 1] = length
end
-- Bare pushes have entries and no record yet, so this is a lower bound, and 0 unless another program removed entries.
local mislaid = call('HLEN', TASKS) - call('ZCARD', DELAYED) - waiting - (STREAM and 0 or claimed)
local back = released > 0 and load(call('ZRANGEBYSCORE', CLAIMS, '-inf', 0, 'LIMIT', 0, 1)[1])
if back then older(tonumber(back.first)) end
if STREAM then waiting = math.max(0, waiting - claimed) end
local due = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
for name, value in pairs({waiting = waiting, claimed = claimed, delayed = call('ZCARD', DELAYED), dead = call('XLEN', DEAD), mislaid = math.max(0, mislaid),
  expired_claims = call('ZCOUNT', CLAIMS, 1, reapable()), oldest_waiting_ms = oldest or -1, next_due_ms = tonumber(due[2] or '-1')}) do
  out[#out + 1] = name
  out[#out + 1] = value
end
for _, word in ipairs(call('HGETALL', COUNTS)) do out[#out + 1] = word end
return out
