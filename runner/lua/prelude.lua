-- What every script shares: names of the keys, the record, the two modes. Put before each script by runner/scripts.py.
-- KEYS: runner/keys.py ORDER, then the priorities, highest first.
-- ARGV: 1 rev of the declaration, 2 mode, 3 lease in ms, 4 keep_done in ms, 5 max_length, 6 priorities joined by commas; the script's own follow.
-- A record in `tasks` is one line of words: state priority entry first_ms counters life wish token last key.
--   counters: errors,timeouts,crashes,ooms,releases,replays,unknown_ms   wish: "cancel", "adopt" (a bare push whose body was not asked for its id yet),
--     "to:QUEUE" (moving there) or "-"
--   token: the holder's, "-" for none   last: the token that settled last, so that a settle whose reply was lost can be repeated
--   A task that nobody claimed yet stops after first_ms. The key may hold spaces and is the rest of the line.
local QUEUE, TASKS, BODIES, CLAIMS, HELD, DELAYED, EXPIRIES, BUSINESS, DEAD, BURIED, LIVES, TURN, PULSE, COUNTS =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local DONE, HISTORY = {KEYS[15], KEYS[16], KEYS[17], KEYS[18]}, KEYS[19]
local FIRST_PRIORITY, OWN = 20, 7
local REV, STREAM, LEASE_MS, KEEP_MS, MAX_LENGTH = ARGV[1], ARGV[2] == 'stream', tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local GROUP, CONSUMER = 'runner', 'runner'
local ATTEMPTS_KEPT, ATTEMPTS_BYTES, CHUNK_BYTES = 10, 65536, 1048576
local FRESH = '0,0,0,0,0,0,0'

local call, match, floor = redis.call, string.match, math.floor
local clock = call('TIME')
local NOW = clock[1] * 1000 + floor(clock[2] / 1000)

-- Redis keeps no number type: a rev that differs, or none, means that the caller's declaration is old or the queue undeclared.
local function stale()
  local rev = call('HGET', QUEUE, 'rev')
  if rev ~= REV then return redis.error_reply(rev and 'STALEQUEUE declared again' or 'NOQUEUE undeclared') end
end

local WATCHED, NAMES = {}, {}
for name in string.gmatch(ARGV[6], '[^,]+') do
  NAMES[#NAMES + 1] = name
  WATCHED[name] = KEYS[FIRST_PRIORITY + #NAMES - 1]
end

-- One table made whole: grown field by field it costs as much again as the match.
local function parse(line)
  if not line then return nil end
  local state, priority, entry, first, counters, life, wish, token, last, key =
    match(line, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  if not state then
    state, priority, entry, first = match(line, '^(%S+) (%S+) (%S+) (%S+)$')
    counters, life, wish, token, last, key = FRESH, '1', '-', '-', '-', ''
  end
  return {state = state, priority = priority, entry = entry, first = first, counters = counters, life = life, wish = wish, token = token, last = last, key = key}
end

-- A priority that may no longer be declared as one that is: the default one's key is the only one with the queue's plain name.
local function declared(priority)
  if WATCHED[priority] then return priority end
  local stem = string.sub(QUEUE, 1, -6)
  for _, name in ipairs(NAMES) do
    if WATCHED[name] ~= stem .. name then return name end
  end
end

local function load(id) return parse(call('HGET', TASKS, id)) end

local function line(r)
  return table.concat({r.state, r.priority, r.entry, r.first, r.counters, r.life, r.wish, r.token, r.last, r.key}, ' ')
end

local function save(id, r) call('HSET', TASKS, id, line(r)) end

local function fresh(priority, entry, first)
  return {state = 'waiting', priority = priority, entry = entry, first = first, counters = FRESH, life = '1', wish = '-', token = '-', last = '-', key = ''}
end

-- Raise the n-th counter of a record; 7 notes a time once instead. An attempt that failed (1 to 4) met a worker that knew the type: the grace
-- for an unknown one begins anew. Most of a chunk have the same counters, so an answer is kept.
local bumped = {}
local function raised(counters, n)
  local before, word, after = match(',' .. counters, '^(' .. string.rep(',%d+', n - 1) .. ',)(%d+)(.*)$')
  if n ~= 7 then word = tonumber(word) + 1 elseif word == '0' then word = string.format('%.0f', NOW) end
  if n < 5 then after = string.gsub(after, '%d+$', '0') end
  return string.sub(before .. word .. after, 2)
end

local function bump(r, n)
  local asked = n .. ':' .. r.counters
  bumped[asked] = bumped[asked] or raised(r.counters, n)
  r.counters = bumped[asked]
end

local function count(field, by) call('HINCRBY', COUNTS, field, by or 1) end

-- Bodies. A stream entry holds `body`, or `id` and `body`; any other fields travel as netstrings, and docs/wire.md says how they are read.
local function netstrings(fields)
  local parts = {}
  for i = 1, #fields do parts[i] = #fields[i] .. ':' .. fields[i] .. ',' end
  return table.concat(parts)
end

local function read_entry(fields)
  local found = {}
  for i = 1, #fields, 2 do found[fields[i]] = fields[i + 1] end
  if found.body and (#fields == 2 or (#fields == 4 and found.id)) then return found.body, found.id end
  return netstrings(fields), nil
end

local function entry_body(key, entry)
  local found = call('XRANGE', key, entry, entry)
  if #found == 0 then return nil end
  return (read_entry(found[1][2]))
end

local function body_of(id, r)
  if STREAM and r.state ~= 'delayed' then return entry_body(WATCHED[r.priority], r.entry) end
  return call('HGET', BODIES, id) or nil
end

local function add_waiting(id, r, body, front)
  r.state = 'waiting'
  if STREAM then
    r.entry = call('XADD', WATCHED[r.priority], '*', 'id', id, 'body', body)
    call('HDEL', BODIES, id)
  else
    r.entry = '-'
    call('HSET', BODIES, id, body)
    call(front and 'RPUSH' or 'LPUSH', WATCHED[r.priority], 'ref:' .. id)
  end
end

-- An entry held under another id than it tells (a bare push that was adopted, or whose entry is another task's id): the way back, kept in
-- `held` as long as the entry lives. Without it a group made anew gave such an entry a second time, and its body left with the first holder.
local function alias(priority, entry) return 'entry:' .. priority .. ':' .. entry end

local function drop_entry(r)
  if r.entry == '-' then return end
  call('HDEL', HELD, alias(r.priority, r.entry))
  call('XACK', WATCHED[r.priority], GROUP, r.entry)
  call('XDEL', WATCHED[r.priority], r.entry)
end

-- Attempts: one JSON line each, the oldest dropped first.
local function with_attempt(lines, new)
  if new == '' then return lines or '' end
  if not lines or lines == '' then return new end
  local kept = lines .. '\n' .. new
  local _, breaks = string.gsub(kept, '\n', '\n')
  while breaks > 0 and (breaks >= ATTEMPTS_KEPT or #kept > ATTEMPTS_BYTES) do
    kept = string.sub(kept, string.find(kept, '\n', 1, true) + 1)
    breaks = breaks - 1
  end
  return kept
end

local function note_attempt(id, new)
  if new ~= '' then call('HSET', LIVES, id, with_attempt(call('HGET', LIVES, id), new)) end
end

-- Markers of ended tasks: "i:<id>" to "state token ended_ms counters life result", "l:<id>" to attempts, "k:<key>" to "state id",
-- "h:<id>" to the entry in `history` that holds a done task's body.
local function find_marker(field)
  for i = 1, #DONE do
    local found = call('HGET', DONE[i], field)
    if found then return found, DONE[i] end
  end
end

local function marker_state(id)
  local found = find_marker('i:' .. id)
  if found then return match(found, '^(%S+) (%S+)') end
end

-- The id stays taken: its task is done, or lives on in another queue.
local function answered(id)
  local state = marker_state(id)
  return (state == 'done' or state == 'moved') and state
end

local function mark(...)
  local period = KEEP_MS / 2
  local turn = floor(NOW / period)
  local key = DONE[turn % #DONE + 1]
  call('HSET', key, ...)
  call('PEXPIREAT', key, string.format('%.0f', (turn + 1) * period + KEEP_MS))
end

-- The ring is searched in no order of time, so a key has one marker: an older 'dead' must not hide a newer 'done'.
local function mark_key(key, text)
  for i = 1, #DONE do call('HDEL', DONE[i], 'k:' .. key) end
  mark('k:' .. key, text)
end

-- Bodies of done tasks, the oldest first; `counts` has the sum of their bytes. Read one by one: 200 at once could be 200 MiB.
local function oldest_body()
  local row = call('XRANGE', HISTORY, '-', '+', 'COUNT', 1)[1]
  if not row then return nil end
  local f = {}
  for i = 1, #row[2], 2 do f[row[2][i]] = row[2][i + 1] end
  -- What another program put there was never counted: 0.
  return row[1], f.id and f.body and f.priority and #f.id + #f.body or 0
end

local function drop_body(entry, size)
  call('XDEL', HISTORY, entry)
  -- Not -size: to Redis 7.0 the -0 of such an entry is no integer, and no settle that met one went through.
  return call('HINCRBY', COUNTS, 'history_bytes', 0 - size)
end

-- What is kept of a done task's body; nil where nothing is, or no longer.
local function kept_body(id)
  local entry = find_marker('h:' .. id)
  local found = entry and call('XRANGE', HISTORY, entry, entry)[1]
  if not found then return nil end
  local f = {}
  for i = 1, #found[2], 2 do f[found[2][i]] = found[2][i + 1] end
  return f.body, f.priority
end

-- Take a task out of every key but the one its new state lives in; the attempts so far are returned.
local function forget(id, r)
  drop_entry(r)
  if not STREAM or r.state == 'delayed' then call('HDEL', BODIES, id) end
  if r.state == 'delayed' then call('ZREM', DELAYED, id) else call('ZREM', CLAIMS, id) end
  if r.token ~= '-' then call('HDEL', HELD, r.token) end
  call('ZREM', EXPIRIES, id)
  call('HDEL', TASKS, id)
  if r.key ~= '' then call('HDEL', BUSINESS, r.key) end
  local lines = call('HGET', LIVES, id)
  if lines then call('HDEL', LIVES, id) end
  return lines or ''
end

local function end_life(id, r, state, token, result, attempt)
  local lines = with_attempt(forget(id, r), attempt)
  local fields = {'i:' .. id, table.concat({state, token, string.format('%.0f', NOW), r.counters, r.life, result}, ' ')}
  if lines ~= '' then fields[3], fields[4] = 'l:' .. id, lines end
  mark(unpack(fields))
  if r.key ~= '' then mark_key(r.key, state .. ' ' .. id) end
  count(state)
end

local function to_dead(id, r, body, reason, detail, token, attempt)
  local lines = with_attempt(forget(id, r), attempt)
  local entry = call('XADD', DEAD, '*', 'id', id, 'body', body or '', 'reason', reason, 'detail', detail, 'counters', r.counters,
    'first_ms', r.first, 'priority', r.priority, 'life', r.life, 'key', r.key, 'attempts', lines)
  call('HSET', BURIED, id, entry .. ' ' .. token)
  if r.key ~= '' then mark_key(r.key, 'dead ' .. id) end
  count('dead:' .. reason)
  count('buried')
end

local function dead_fields(entry)
  local found = call('XRANGE', DEAD, entry, entry)
  if #found == 0 then return nil end
  -- Named beforehand: a table that grows field by field costs twice as much. A field that is not there stays false.
  local f = {id = false, body = false, reason = false, detail = false, counters = false, first_ms = false, priority = false, life = false, key = false, attempts = false}
  local fields = found[1][2]
  for i = 1, #fields, 2 do f[fields[i]] = fields[i + 1] end
  return f
end

local function remove_dead(entry, f)
  call('XDEL', DEAD, entry)
  -- An entry that another program put there has no such fields, and must not keep the others from leaving.
  if f.id and match(call('HGET', BURIED, f.id) or '', '^(%S+)') == entry then call('HDEL', BURIED, f.id) end
  if f.reason then count('dead:' .. f.reason, -1) end
end

-- A new run of an id that ended: link it to the old one. A dead letter leaves, its attempts stay with the task.
local function begin_life(id, r)
  local buried = call('HGET', BURIED, id)
  if buried then
    local entry = match(buried, '^(%S+)')
    local f = dead_fields(entry)
    if f then
      r.life = tostring(tonumber(f.life) + 1)
      if f.attempts ~= '' then call('HSET', LIVES, id, f.attempts) end
      remove_dead(entry, f)
    end
    call('HDEL', BURIED, id)
    return 'dead ' .. id
  end
  local found, bucket = find_marker('i:' .. id)
  if not found then return nil end
  local state, life = match(found, '^(%S+) %S+ %S+ %S+ (%S+)')
  r.life = tostring(tonumber(life) + 1)
  local lines = call('HGET', bucket, 'l:' .. id)
  if lines then call('HSET', LIVES, id, lines) end
  call('HDEL', bucket, 'i:' .. id, 'l:' .. id)
  return state .. ' ' .. id
end

-- A new run of a business key takes the place of the key's dead letter too, under whatever id: a replay would run beside it, or after it.
local function supersede(key, id)
  local old = match(find_marker('k:' .. key) or '', '^dead (.*)$')
  local entry = old and match(call('HGET', BURIED, old) or '', '^(%S+)')
  local f = entry and dead_fields(entry)
  if not f or f.key ~= key then return end
  if f.attempts ~= '' and call('HEXISTS', LIVES, id) == 0 then call('HSET', LIVES, id, f.attempts) end
  remove_dead(entry, f)
end

-- Put a held task back where the next claim takes it first. In stream mode entry, id and place stay; a list takes it at its popping end.
local function hand_back(id, r)
  r.state = 'waiting'
  if STREAM then call('ZADD', CLAIMS, 0, id) else
    -- In this order: a push that fails (somebody made the key another type) must not leave a claim that nobody can reap.
    call('RPUSH', WATCHED[r.priority], 'ref:' .. id)
    call('ZREM', CLAIMS, id)
  end
end

local function let_go(r)
  call('HDEL', HELD, r.token)
  r.last, r.token = r.token, '-'
end

-- Who may settle: the record when `token` holds the task; else 'again' when this very token settled before, or 'lost'.
-- `r` is its record where the caller has read it.
local function holder(id, token, r)
  r = r or load(id)
  if r then
    if r.state == 'claimed' and r.token == token then return r end
    return nil, r.last == token and 'again' or 'lost'
  end
  local _, settled = marker_state(id)
  if not settled then settled = match(call('HGET', BURIED, id) or '', ' (%S+)$') end
  return nil, settled == token and 'again' or 'lost'
end

-- Silence rule: no holder and no reaper heard for half a lease means that Redis was away, not the pods, which beat every third. Claims that
-- still lived when somebody was last heard are then spared for one more lease; without it an outage took every living holder's claim.
-- Half, because an outage of two thirds is enough: a claim whose next beat was due when it began ends before a lease of silence is over.
-- A claim that had ended before is not spared: in a queue looked at less often than a lease, a dead pod's claim was spared at every look.
-- `pulse` is "last from till": claims whose expiry is `from` or later are spared until `till`. Nothing is written per claim.
local function pulse()
  local last, from, till = match(call('GET', PULSE) or '', '^(%d+) (%d+) (%d+)$')
  return tonumber(last), tonumber(from or 0), tonumber(till or 0)
end

local function hear()
  local last, from, till = pulse()
  if last and NOW - last > LEASE_MS / 2 then from, till = last, NOW + LEASE_MS end
  call('SET', PULSE, string.format('%.0f %.0f %.0f', NOW, from, till))
end

-- When a claim with this expiry may be reaped, and the highest expiry that may be reaped now.
local function spared_to(expiry)
  local _, from, till = pulse()
  return expiry >= from and math.max(expiry, till) or expiry
end

local function reapable()
  local _, from, till = pulse()
  return NOW < till and math.min(NOW, from - 1) or NOW
end
