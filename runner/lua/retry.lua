#!lua flags=allow-oom
-- claimed -> delayed (or waiting, for a delay of 0): run again, with the counter of the way it ended raised. Takes a chunk.
-- ARGV 7.. per task, 5 each: id, token, delay_ms, counter (1 errors .. 4 ooms, 7 unknown_ms, 0 none), attempt (a JSON line or '')
-- RETURNS a word per task: 'ok' | 'cancelled' (somebody wanted it cancelled) | 'again' | 'lost'
-- INVARIANT: only the holder's token settles; the body's bytes stay the same; a delayed task is in no watched key.
local wrong = stale()
if wrong then return wrong end

-- Read in one call and written in one call each: a pass may settle 100,000 lost claims.
local ids, seen = {}, {}
for i = OWN, #ARGV, 5 do
  local id = ARGV[i]
  if not seen[id] then
    seen[id] = true
    ids[#ids + 1] = id
  end
end
local lines, lives = call('HMGET', TASKS, unpack(ids)), call('HMGET', LIVES, unpack(ids))
local known, attempts = {}, {}
for i, id in ipairs(ids) do known[id], attempts[id] = parse(lines[i]), lives[i] end

local records, noted, free, back, given, retried = {}, {}, {}, {}, {}, 0

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

-- As `hand_back` in the prelude, for many: written by `write_all`.
local function give_back(id, r)
  r.state = 'waiting'
  if STREAM then given[#given + 1] = 0 else
    local refs = back[r.priority] or {}
    back[r.priority] = refs
    refs[#refs + 1] = 'ref:' .. id
  end
  given[#given + 1] = id
end

local function settle(id, token, delay_ms, counter, attempt)
  local r, word = holder(id, token, known[id])
  if not r then return word end
  if counter > 0 then bump(r, counter) end
  if r.wish == 'cancel' then
    known[id] = nil
    end_life(id, r, 'cancelled', token, '', attempt)
    return 'cancelled'
  end
  if attempt ~= '' then noted[#noted + 1] = id; noted[#noted + 1] = with_attempt(attempts[id], attempt) end
  retried = retried + 1
  free[retried] = token
  r.last, r.token = token, '-'
  -- A body that is gone is told by the next claim, which buries it with that reason.
  if delay_ms <= 0 or not delay(id, r, delay_ms) then give_back(id, r) end
  records[#records + 1] = id; records[#records + 1] = line(r)
  return 'ok'
end

-- The references go first: if somebody made a watched key another type, the claims stay as they were and expire again.
local function write_all()
  for name, refs in pairs(back) do call('RPUSH', WATCHED[name], unpack(refs)) end
  if #given > 0 then call(STREAM and 'ZADD' or 'ZREM', CLAIMS, unpack(given)) end
  if #noted > 0 then call('HSET', LIVES, unpack(noted)) end
  if #records == 0 then return end
  call('HSET', TASKS, unpack(records))
  call('HDEL', HELD, unpack(free))
  count('retried', retried)
end

local words = {}
for i = OWN, #ARGV, 5 do
  words[#words + 1] = settle(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), ARGV[i + 4])
end
write_all()
return words
