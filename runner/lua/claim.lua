#!lua flags=allow-oom
-- waiting -> claimed: give one task to one token. Released tasks come first, then the priorities in order.
-- The stated bound: every 8th claim starts one level lower in turn, so the head of any level waits at most 8 * (levels - 1) claims.
-- ARGV 7 token, 8 holder (pod/uid/node, no spaces), 9 an id for a bare push that has none of its own
-- RETURNS {1, now_ms, id, priority, first_ms, counters, wish, body} or
--   {0, now_ms, when the first claim may be reaped in ms or -1, more, that claim's own expiry in ms or -1};
--   more is 1 when the call ended at its bound, among duplicates and expired tasks, and not at the end of the queue: ask again
-- INVARIANT: a token holds at most one task and asking again answers the same; an entry whose record is claimed is never given again.
local wrong = stale()
if wrong then return wrong end
local TOKEN, HOLDER, SPARE_ID, TURNS = ARGV[7], ARGV[8], ARGV[9], 8

local function answer(id, r, body) return {1, NOW, id, r.priority, r.first, r.counters, r.wish, body} end

local held = call('HGET', HELD, TOKEN)
if held then
  local id = match(held, '^%S+ %S+ %S+ (.*)$')
  local r = load(id)
  return answer(id, r, body_of(id, r) or '')
end
hear()

-- A destroyed group or a deleted stream is made again at 0: claimed entries are then met again and skipped by their records.
local function read_group(key)
  local reply = redis.pcall('XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', 1, 'STREAMS', key, '>')
  if reply and reply.err and string.find(reply.err, 'NOGROUP', 1, true) then
    call('XGROUP', 'CREATE', key, GROUP, '0', 'MKSTREAM')
    reply = call('XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', 1, 'STREAMS', key, '>')
  elseif reply and reply.err then
    error(reply.err)
  end
  if reply and #reply > 0 then return reply[1][2][1] end
end

-- A push by anyone: its body may name its own id and key, which only `adopt` can tell.
local function bare(priority, entry, first)
  local r = fresh(priority, entry, first)
  r.wish = 'adopt'
  return r
end

local function drop_stray(priority, entry)
  drop_entry({priority = priority, entry = entry})
  count('duplicates')
end

-- An entry's own name is no id yet when a task of that id is known: two streams may name entries alike, and anybody may choose such an id.
local function unnamed_id(priority, entry)
  if not load(entry) and not marker_state(entry) and call('HEXISTS', BURIED, entry) == 0 then return entry end
  call('HSET', HELD, alias(priority, entry), SPARE_ID)
  return SPARE_ID
end

local function holds(r, priority, entry) return r and r.entry == entry and r.priority == priority end

local function meet_entry(priority, found)
  local entry = found[1]
  if not found[2] then return drop_stray(priority, entry) end
  local body, named = read_entry(found[2])
  local id = named or entry
  local r = load(id)
  if not holds(r, priority, entry) then
    local other = call('HGET', HELD, alias(priority, entry))
    if other then id, r = other, load(other) end
  end
  if holds(r, priority, entry) then
    if r.state == 'waiting' then return id, r, body end
    return nil
  end
  if named and (r or answered(id)) then return drop_stray(priority, entry) end
  r = bare(priority, entry, match(entry, '^%d+'))
  if not named then return unnamed_id(priority, entry), r, body end
  begin_life(id, r)
  return id, r, body
end

local function meet_item(priority, item)
  local id = match(item, '^ref:(.*)$')
  local r = id and load(id)
  if r and r.state == 'waiting' then return id, r, call('HGET', BODIES, id) or nil end
  if id and (r or marker_state(id) or call('HEXISTS', BURIED, id) == 1) then return count('duplicates') end
  call('HSET', BODIES, SPARE_ID, item)
  return SPARE_ID, bare(priority, '-', NOW), item
end

local function next_released()
  if not STREAM then return false end
  local id = call('ZRANGEBYSCORE', CLAIMS, '-inf', 0, 'LIMIT', 0, 1)[1]
  if not id then return false end
  local r = load(id)
  if not r or r.state ~= 'waiting' then
    call('ZREM', CLAIMS, id)
    return true
  end
  return true, id, r, body_of(id, r)
end

local turn = tonumber(call('GET', TURN) or '0') + 1
local first = turn % TURNS == 0 and #NAMES > 1 and (turn / TURNS) % (#NAMES - 1) + 2 or 1

local function next_waiting()
  for step = 0, #NAMES do
    local at = step == 0 and first or step
    local name = NAMES[at]
    if STREAM then
      local found = read_group(WATCHED[name])
      if found then return true, meet_entry(name, found) end
    else
      local item = call('RPOP', WATCHED[name])
      if item then return true, meet_item(name, item) end
    end
  end
  return false
end

local function next_task()
  local some, id, r, body = next_released()
  if not some then some, id, r, body = next_waiting() end
  return some, id, r, body
end

-- Bounded: a run of duplicates or expired tasks must not hold the server.
local more, bytes = 1, 0
for _ = 1, 100 do
  local some, id, r, body = next_task()
  if not some then
    more = 0
    break
  end
  bytes = bytes + (r and body and #body or 0)
  local expiry = r and call('ZSCORE', EXPIRIES, id)
  if r and not body then
    to_dead(id, r, '', 'unreadable', 'the body was removed from Redis by another program', TOKEN, '')
  elseif expiry and tonumber(expiry) <= NOW then
    to_dead(id, r, body, 'expired', 'not started before its expiry', TOKEN, '')
  elseif r then
    r.state, r.token = 'claimed', TOKEN
    save(id, r)
    call('ZADD', CLAIMS, NOW + LEASE_MS, id)
    call('HSET', HELD, TOKEN, table.concat({string.format('%.0f', NOW), HOLDER, '-', id}, ' '))
    if expiry then call('ZREM', EXPIRIES, id) end
    call('SET', TURN, turn)
    return answer(id, r, body)
  end
  if bytes > CHUNK_BYTES then break end
end
local first_over = call('ZRANGEBYSCORE', CLAIMS, 1, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local expiry = tonumber(first_over[2] or '-1')
return {0, NOW, expiry < 0 and -1 or spared_to(expiry), more, expiry}
