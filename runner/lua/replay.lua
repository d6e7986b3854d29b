#!lua
-- dead -> waiting: dead letters run again, their counters at 0 but for `replays`, their first submit and attempts kept. Takes a chunk of at most 1 MiB.
-- ARGV 7 attempt (a JSON line that says who replayed), 8.. entries of the dead stream
-- RETURNS {looked at, replayed}
-- INVARIANT: a letter becomes exactly one waiting task, however many replay at once; an id that lives again is left alone.
local wrong = stale()
if wrong then return wrong end
local ATTEMPT = ARGV[7]
local letters, seen, bytes, looked = {}, {}, 0, 0
for i = 8, #ARGV do
  local f = dead_fields(ARGV[i])
  if f and not seen[f.id] then
    seen[f.id] = true
    f.entry = ARGV[i]
    letters[#letters + 1] = f
    bytes = bytes + #f.body
  end
  looked = looked + 1
  if bytes > CHUNK_BYTES then break end
end
if #letters == 0 then return {looked, 0} end

local function column(name)
  local values = {}
  for i = 1, #letters do values[i] = letters[i][name] end
  return values
end

-- Its record: waiting, with nothing counted but its replays. Written out, not by `line`: this is the price per letter.
local function revived(f)
  local priority, entry = declared(f.priority), '-'
  if STREAM then entry = call('XADD', WATCHED[priority], '*', 'id', f.id, 'body', f.body) else
    call('HSET', BODIES, f.id, f.body)
    call('LPUSH', WATCHED[priority], 'ref:' .. f.id)
  end
  local key = f.key
  if key ~= '' and call('HSETNX', BUSINESS, key, f.id) == 0 then key = '' end
  local replays = match(f.counters, '^%d+,%d+,%d+,%d+,%d+,(%d+)') + 1
  return 'waiting ' .. priority .. ' ' .. entry .. ' ' .. f.first_ms .. ' 0,0,0,0,0,' .. replays .. ',0 ' .. f.life .. ' - - - ' .. key
end

-- Read in one call and written in one call each, the letters leave last.
local ids = column('id')
local alive, buried = call('HMGET', TASKS, unpack(ids)), call('HMGET', BURIED, unpack(ids))
local records, lives, entries, gone, reasons = {}, {}, {}, {}, {}
for i, f in ipairs(letters) do
  if not alive[i] then
    records[#records + 1] = f.id; records[#records + 1] = revived(f)
    lives[#lives + 1] = f.id; lives[#lives + 1] = with_attempt(f.attempts, ATTEMPT)
    entries[#entries + 1] = f.entry
    if string.find(buried[i] or '', f.entry .. ' ', 1, true) == 1 then gone[#gone + 1] = f.id end
    reasons[f.reason] = (reasons[f.reason] or 0) + 1
  end
end
local replayed = #entries
if replayed > 0 then
  call('HSET', TASKS, unpack(records))
  call('HSET', LIVES, unpack(lives))
  if #gone > 0 then call('HDEL', BURIED, unpack(gone)) end
  call('XDEL', DEAD, unpack(entries))
  for reason, n in pairs(reasons) do count('dead:' .. reason, -n) end
  count('replayed', replayed)
end
return {looked, replayed}
