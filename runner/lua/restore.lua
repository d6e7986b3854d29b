#!lua flags=allow-oom
-- waiting -> waiting: entries that the group gave to nobody who holds them (an operator's XGROUP DELCONSUMER, a foreign reader) go to the tail, where a claim finds them.
-- ARGV 7 priority, 8.. entries that the caller found delivered and in no claim
-- RETURNS how many were restored
-- INVARIANT: a claimed entry is left alone, and so is one that a claim wrote a record for meanwhile.
local wrong = stale()
if wrong then return wrong end
local PRIORITY = ARGV[7]
local KEY, restored = WATCHED[PRIORITY], 0
for i = 8, #ARGV do
  local entry = ARGV[i]
  local found = call('XRANGE', KEY, entry, entry)[1]
  local _, id = read_entry(found and found[2] or {})
  local r = load(id or entry)
  local held = r and (r.state == 'claimed' or call('ZSCORE', CLAIMS, id or entry))
  if found and not held then
    local new = call('XADD', KEY, '*', unpack(found[2]))
    drop_entry({priority = PRIORITY, entry = entry})
    if r and r.entry == entry then
      r.entry = new
      save(id or entry, r)
    end
    restored = restored + 1
  end
end
if restored > 0 then count('restored', restored) end
return restored
