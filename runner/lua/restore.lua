#!lua flags=allow-oom
-- waiting -> waiting: entries that the group gave to nobody who holds them (an operator's XGROUP DELCONSUMER, a foreign reader) go to the tail, where a claim finds them.
-- ARGV 7 priority, 8.. entries that the caller found delivered and in no claim
-- RETURNS {looked at, restored}: it stops at about 1 MiB
-- INVARIANT: a claimed entry is left alone, and so is one that a claim wrote a record for meanwhile.
local wrong = stale()
if wrong then return wrong end
local PRIORITY = ARGV[7]
local KEY, looked, restored, bytes = WATCHED[PRIORITY], 0, 0, 0

local function restore(entry)
  local found = call('XRANGE', KEY, entry, entry)[1]
  if not found then return end
  local body, named = read_entry(found[2])
  bytes = bytes + #body
  local id = named or call('HGET', HELD, alias(PRIORITY, entry)) or entry
  local r = load(id)
  local own = r and r.entry == entry and r.priority == PRIORITY
  if own and (r.state == 'claimed' or call('ZSCORE', CLAIMS, id)) then return end
  local new
  if own then new = call('XADD', KEY, '*', 'id', id, 'body', body) else new = call('XADD', KEY, '*', unpack(found[2])) end
  drop_entry({priority = PRIORITY, entry = entry})
  if own then
    r.entry = new
    save(id, r)
  end
  restored = restored + 1
end

for i = 8, #ARGV do
  restore(ARGV[i])
  looked = looked + 1
  if bytes > CHUNK_BYTES then break end
end
if restored > 0 then count('restored', restored) end
return {looked, restored}
