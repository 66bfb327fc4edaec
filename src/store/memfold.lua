-- The server side of memfold: commit, undo and leases, each one atomic step.
--
-- This text is wrapped twice: as a function library, and as EVAL scripts for servers that refuse
-- functions. Behaviour that changes needs a new library name (see functions.rs): older processes
-- go on calling the old one.
--
-- Redis runs a function alone but does not roll back, so each one reads everything, checks
-- everything, then writes; every write notes the command that reverses it, and these are run
-- backwards if a later step fails. Answers are arrays: a word, then what it is about.

-- Bytewise order. Lua's own `<` on strings follows the server's locale.
local function before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = a:byte(i), b:byte(i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- The type of a key's value; 'none' if there is no such key.
local function kind(key)
  return redis.call('TYPE', key).ok
end

local TYPE = { json = 'ReJSON-RL', hash = 'hash' }

-- Digest of a stored record; digest.rs computes the same. JSON is hashed as text: cjson would
-- turn [] into {} and lose digits.
local function digest(key, storage)
  if storage == 'json' then return redis.sha1hex(redis.call('JSON.GET', key)) end
  local flat = redis.call('HGETALL', key)
  local names, values, parts = {}, {}, {}
  for i = 1, #flat, 2 do
    names[#names + 1] = flat[i]
    values[flat[i]] = flat[i + 1]
  end
  table.sort(names, before)
  for _, name in ipairs(names) do
    local value = values[name]
    parts[#parts + 1] = #name .. ':' .. name .. #value .. ':' .. value
  end
  return redis.sha1hex(table.concat(parts))
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Milliseconds as Redis reads them; Lua would print large numbers as 1.79e+12.
local function ms(number)
  return string.format('%.0f', number)
end

-- Runs `steps`, which changes the store only by the function it is handed: write(command, inverse).
-- `inverse` is the command that reverses it, or a function from the reply to that command. If any
-- step fails, all writes are reversed, newest first, and the answer is what was thrown.
local function all_or_nothing(steps)
  local inverses = {}
  local function write(command, inverse)
    local reply = redis.pcall(unpack(command))
    if type(reply) == 'table' and reply.err then
      error({ 'REFUSED', command[1] .. ': ' .. reply.err })
    end
    if type(inverse) == 'function' then inverse = inverse(reply) end
    inverses[#inverses + 1] = inverse
  end

  local done, answer = pcall(steps, write)
  if done then return answer end
  local broken
  for i = #inverses, 1, -1 do
    local reply = redis.pcall(unpack(inverses[i]))
    if type(reply) == 'table' and reply.err then
      broken = broken or { 'BROKEN', inverses[i][1] .. ' ' .. inverses[i][2] .. ': ' .. reply.err }
    end
  end
  return broken or type(answer) == 'table' and answer or { 'REFUSED', tostring(answer) }
end

-- What inverses need beyond the writes before them. A server that refuses it to this account must
-- say so before the first write, so it is asked to do it to a key that is not there.
local function inverses_refused(absent)
  for _, command in ipairs({ { 'UNLINK', absent }, { 'PERSIST', absent },
    { 'PEXPIREAT', absent, 1 } }) do
    local reply = redis.pcall(unpack(command))
    if type(reply) == 'table' then return { 'REFUSED', command[1] .. ': ' .. reply.err } end
  end
end

-- The command that gives a key an absolute expiry, or none, whatever it has.
local function expire_at(key, at)
  if at < 0 then return { 'PERSIST', key } end
  return { 'PEXPIREAT', key, ms(at) }
end

-- The arguments of RESTORE that write a payload with an absolute expiry, or none.
local function restore(key, payload, at, ...)
  return { 'RESTORE', key, at < 0 and 0 or ms(at), payload, 'ABSTTL', ... }
end

-- The commands that write the record in args[first…last] on an absent key. Hashes go in chunks:
-- Lua's stack is bounded.
local function record_writes(key, storage, args, first, last)
  if storage == 'json' then return { { 'JSON.SET', key, '$', args[first] } } end
  local commands = {}
  for i = first, last, 1000 do
    local command = { 'HSET', key }
    for j = i, math.min(i + 999, last) do command[#command + 1] = args[j] end
    commands[#commands + 1] = command
  end
  return commands
end

local function append(write, ledger, spec, event)
  local at, first = now_ms(), kind(ledger) == 'none'
  local entry = { 'XADD', ledger, 'MINID', '~', ms(math.max(0, at - spec.ledger_ms)), '*',
    'merge_id', spec.merge_id, 'event', event, 'user', spec.user, 'run_id', spec.run_id,
    'at_ms', ms(at), 'retired', spec.retired }
  if spec.reason then
    entry[#entry + 1], entry[#entry + 2] = 'reason', spec.reason
  end
  write(entry,
    function(id) return first and { 'UNLINK', ledger } or { 'XDEL', ledger, id } end)
end

-- Splits keys[from…] into lists of the given lengths; the last list takes the rest.
local function split(keys, from, ...)
  local lists = {}
  for _, length in ipairs({ ... }) do
    local list = {}
    for i = from, from + length - 1 do list[#list + 1] = keys[i] end
    lists[#lists + 1] = list
    from = from + length
  end
  local last = {}
  for i = from, #keys do last[#last + 1] = keys[i] end
  lists[#lists + 1] = last
  return unpack(lists)
end

-- Can the index find the record, by its vector if it has one? A plain match would accept a document
-- without a vector, and a range query on HNSW misses.
local function prove_visible(written, key, vector)
  local command = { 'FT.SEARCH', written.index, '*', 'INKEYS', 1, key, 'NOCONTENT', 'DIALECT', 2 }
  if written.vector_field then
    command[3] = '*=>[KNN 1 @' .. written.vector_field .. ' $vector AS __memfold_distance]'
    for _, word in ipairs({ 'PARAMS', 2, 'vector', vector }) do command[#command + 1] = word end
  end
  local reply = redis.pcall(unpack(command))
  if reply.err then error({ 'NOTVISIBLE', reply.err }) end
  if reply[2] ~= key then error({ 'NOTVISIBLE', 'the index does not return it' }) end
end

-- Whether a field of a hash expires by itself: the result would keep it for ever. Servers without
-- such fields do not know the command.
local function has_expiring_field(key, storage)
  if storage ~= 'hash' then return false end
  local names = redis.call('HKEYS', key)
  for from = 1, #names, 1000 do
    local count = math.min(1000, #names - from + 1)
    local command = { 'HPTTL', key, 'FIELDS', count }
    for i = from, from + count - 1 do command[#command + 1] = names[i] end
    local reply = redis.pcall(unpack(command))
    if reply.err then return false end
    for _, left in ipairs(reply) do
      if left >= 0 then return true end
    end
  end
  return false
end

-- What speaks against a commit; nil if nothing does.
local function commit_refused(spec, lease, veto, pinned, copies)
  if spec.lease then
    local holder = redis.call('GET', lease)
    if holder ~= spec.lease then return { 'FENCED', holder or '' } end
  end
  local merge_id = redis.call('GET', veto)
  if merge_id then return { 'VETOED', merge_id } end
  for i, was in ipairs(spec.keys) do
    local key, found = pinned[i], kind(pinned[i])
    if found == 'none' then return { 'MISSING', key } end
    if found ~= TYPE[was.storage] then return { 'TYPE', key, found } end
    if digest(key, was.storage) ~= was.digest then return { 'CHANGED', key } end
    if redis.call('PEXPIRETIME', key) ~= was.expires_at_ms then return { 'EXPIRY', key } end
    if has_expiring_field(key, was.storage) then return { 'FIELDTTL', key } end
    if kind(copies[i]) ~= 'none' then return { 'TAKEN', copies[i] } end
  end
  return inverses_refused(copies[1])
end

-- The last step for a key, by the way it is retired: drop it, or keep it for the undo window, but
-- never longer than it would have lived by itself: what was to be forgotten then is forgotten then.
local function retire(write, spec, was, copy)
  local ends = now_ms() + spec.window_ms
  if was.expires_at_ms >= 0 then ends = math.min(ends, was.expires_at_ms) end
  if spec.retire == 'delete' then
    write({ 'UNLINK', copy })
  elseif spec.retire == 'rename' then
    write(expire_at(copy, ends), expire_at(copy, was.expires_at_ms))
  else
    -- An index covers the copies and must not see a HASH or JSON there: only the payload stays.
    local payload = redis.call('DUMP', copy)
    write({ 'SET', copy, payload, 'PXAT', ms(ends) },
      restore(copy, payload, was.expires_at_ms, 'REPLACE'))
  end
end

-- Every key of the sources is moved away, and so are companions: records that name a source and are
-- rewritten with the merge. Then the records of the result go on the keys of one source, and those
-- of the companions on theirs.
--
-- KEYS: record, ledger, veto, lease, the keys that are moved…, their copies in the undo store…,
--       pointers…
-- ARGV: spec (JSON), merge record (JSON), vector, then the records that are written, each as JSON
--       text or as names and values. The first is the result's own.
local function commit(keys, args)
  local spec = cjson.decode(args[1])
  local record, ledger, veto, lease = unpack(keys, 1, 4)
  local pinned, copies, pointers = split(keys, 5, #spec.keys, #spec.keys)

  local known = redis.call('GET', record)
  if known then return { 'ALREADY', known } end
  local refusal = commit_refused(spec, lease, veto, pinned, copies)
  if refusal then return refusal end

  return all_or_nothing(function(write)
    -- The keys keep their own expiry until the last steps, so renaming back is all it takes.
    for i, key in ipairs(pinned) do
      write({ 'RENAMENX', key, copies[i] }, { 'RENAMENX', copies[i], key })
    end
    local first, digests = 4, {}
    for _, written in ipairs(spec.writes) do
      local key, storage = pinned[written.at], spec.keys[written.at].storage
      local last = first + written.args - 1
      for i, command in ipairs(record_writes(key, storage, args, first, last)) do
        write(command, i == 1 and { 'UNLINK', key } or nil)
      end
      first = last + 1
      if written.expires_at_ms >= 0 then write(expire_at(key, written.expires_at_ms)) end
      if kind(key) == 'none' then error({ 'NOTVISIBLE', 'its expiry has passed' }) end
      digests[#digests + 1] = '"' .. digest(key, storage) .. '"'
    end
    if spec.prove then
      for _, written in ipairs(spec.writes) do prove_visible(written, pinned[written.at], args[3]) end
    end

    local text = '{"state":"merged","result_digest":' .. table.remove(digests, 1)
    if #digests > 0 then
      text = text .. ',"more_digests":[' .. table.concat(digests, ',') .. ']'
    end
    text = text .. ',"merge":' .. args[2] .. '}'
    write({ 'SET', record, text, 'PX', ms(spec.ledger_ms) }, { 'UNLINK', record })
    for _, pointer in ipairs(pointers) do
      -- Not over another's: a memory may carry the provenance of one that it was copied from.
      write({ 'SET', pointer, spec.merge_id, 'PX', ms(spec.ledger_ms), 'NX' },
        function(reply) return reply and { 'UNLINK', pointer } or nil end)
    end
    append(write, ledger, spec, 'merged')
    for i, was in ipairs(spec.keys) do retire(write, spec, was, copies[i]) end
    return { 'MERGED', text }
  end)
end

-- What an undo finds: `back` says which units come back whole, `gone` names the memories that have
-- expired by themselves, `edited` says which units hold something else than what the merge wrote.
-- A unit is the keys of one memory, or one companion.
local function undo_finds(spec, pinned)
  local now, found = now_ms(), { back = {}, gone = {}, edited = {}, there = {} }
  for i, was in ipairs(spec.keys) do
    if found.back[was.unit] == nil then found.back[was.unit] = true end
    local at = was.expires_at_ms
    if at >= 0 then
      found.first_expiry = math.min(at, found.first_expiry or at)
      if at <= now and found.back[was.unit] then
        found.back[was.unit] = false
        if was.unit < spec.retired then found.gone[#found.gone + 1] = spec.memories[was.unit + 1] end
      end
    end
  end
  for i, written in ipairs(spec.writes) do
    local key, was = pinned[written.at], spec.keys[written.at]
    found.there[i] = kind(key) == TYPE[was.storage]
    if found.there[i] and digest(key, was.storage) ~= written.digest then
      found.edited[was.unit] = key
    end
  end
  return found
end

-- What speaks against an undo; nil if nothing does.
local function undo_refused(spec, found, pinned, copies, besides)
  local writes_at = {}
  for i, written in ipairs(spec.writes) do
    local key, was = pinned[written.at], spec.keys[written.at]
    writes_at[written.at] = true
    if not found.there[i] and kind(key) ~= 'none' then return { 'TAKEN', key } end
    local edited = found.edited[was.unit]
    -- A memory may be kept beside only where its record does not repeat the id that its key holds.
    local may = spec.force and (spec.beside or was.unit >= spec.retired)
    if edited and not may then return { 'EDITED', edited } end
    -- A companion that was edited stays as it is: nothing goes beside.
    if edited and was.unit < spec.retired and kind(besides[i]) ~= 'none' then
      return { 'TAKEN', besides[i] }
    end
  end
  local any = false
  for i, was in ipairs(spec.keys) do
    if found.back[was.unit] then
      any = any or was.unit < spec.retired
      local copy = kind(copies[i])
      if copy == 'none' then return { 'WINDOW', pinned[i] } end
      if copy ~= (spec.retire == 'dump' and 'string' or TYPE[was.storage]) then
        return { 'TAKEN', copies[i] }
      end
      if not writes_at[i] and kind(pinned[i]) ~= 'none' then return { 'TAKEN', pinned[i] } end
    end
  end
  if not any then return { 'EXPIRED' } end
end

-- Puts one key back as it was, with its own expiry.
local function bring_back(write, spec, was, key, copy)
  if spec.retire == 'dump' then
    write(restore(key, redis.call('GET', copy), was.expires_at_ms), { 'UNLINK', key })
  else
    local window_ends = redis.call('PEXPIRETIME', copy)
    write({ 'RENAMENX', copy, key }, { 'RENAMENX', key, copy })
    write(expire_at(key, was.expires_at_ms), expire_at(key, window_ends))
  end
end

local MERGED, UNDONE = '{"state":"merged"', '{"state":"undone"'

-- KEYS: record, ledger, veto, own pointer, the user's vetoes, the keys that were moved…, their
--       copies in the undo store…, for each write a key aside (for a moment)… and one beside (for an
--       edited result)…, pointers of the parents…
-- ARGV: spec (JSON).
local function undo(keys, args)
  local spec = cjson.decode(args[1])
  local record, ledger, veto, pointer, vetoes = unpack(keys, 1, 5)
  local moved, written = #spec.keys, #spec.writes
  local pinned, copies, asides, besides, pointers = split(keys, 6, moved, moved, written, written)

  local text = redis.call('GET', record)
  if not text then return { 'UNKNOWN' } end
  if text:sub(1, #MERGED) ~= MERGED then return { 'UNDONE' } end
  local later = redis.call('GET', pointer)
  if later then return { 'LATER', later } end
  local found = undo_finds(spec, pinned)
  local refusal = undo_refused(spec, found, pinned, copies, besides)
    or inverses_refused(asides[1])
  if refusal then return refusal end

  return all_or_nothing(function(write)
    local beside, left = '', {}
    for i, what in ipairs(spec.writes) do
      local key, unit = pinned[what.at], spec.keys[what.at].unit
      local edited = found.edited[unit]
      if edited and unit >= spec.retired then
        found.back[unit] = false
        left[#left + 1] = key
      elseif found.there[i] then
        local away = edited and besides[i] or asides[i]
        if edited and i == 1 then beside = away end
        write({ 'RENAMENX', key, away }, { 'RENAMENX', away, key })
      end
    end
    for i, was in ipairs(spec.keys) do
      if found.back[was.unit] then bring_back(write, spec, was, pinned[i], copies[i]) end
    end
    write({ 'SET', record, UNDONE .. text:sub(#MERGED + 1), 'KEEPTTL' },
      { 'SET', record, text, 'KEEPTTL' })
    if spec.veto and #found.gone == 0 then
      -- It lives as long as all its members can.
      local command = { 'SET', veto, spec.merge_id, 'NX' }
      if found.first_expiry then
        command[5], command[6] = 'PXAT', ms(found.first_expiry)
      end
      write(command, function(reply) return reply and { 'UNLINK', veto } or nil end)
      write({ 'SADD', vetoes, spec.veto },
        function(reply) return reply == 1 and { 'SREM', vetoes, spec.veto } or nil end)
    end
    append(write, ledger, spec, 'undone')
    local rest = { 'UNLINK' }
    for _, list in ipairs({ asides, copies }) do
      for _, key in ipairs(list) do rest[#rest + 1] = key end
    end
    for _, key in ipairs(pointers) do
      if redis.call('GET', key) == spec.merge_id then rest[#rest + 1] = key end
    end
    write(rest)
    local answer = { 'RESTORED', beside, ms(#found.gone) }
    for _, list in ipairs({ found.gone, left }) do
      for _, key in ipairs(list) do answer[#answer + 1] = key end
    end
    return answer
  end)
end

-- KEYS: lease, fence. ARGV: owner, time to live in ms. The value is <fence>:<owner>.
local function acquire(keys, args)
  local holder = redis.call('GET', keys[1])
  if holder then return { 'HELD', holder, redis.call('PTTL', keys[1]) } end
  local value = ms(redis.call('INCR', keys[2])) .. ':' .. args[1]
  redis.call('SET', keys[1], value, 'PX', args[2])
  return { 'ACQUIRED', value }
end

-- KEYS: lease. ARGV: value, time to live in ms.
local function renew(keys, args)
  if redis.call('GET', keys[1]) ~= args[1] then return { 'LOST' } end
  redis.call('PEXPIRE', keys[1], args[2])
  return { 'RENEWED' }
end

-- KEYS: lease. ARGV: value.
local function release(keys, args)
  if redis.call('GET', keys[1]) ~= args[1] then return { 'LOST' } end
  redis.call('UNLINK', keys[1])
  return { 'RELEASED' }
end

-- KEYS: lease, state. ARGV: the lease's value, the state, how long to keep it in ms.
local function remember(keys, args)
  if redis.call('GET', keys[1]) ~= args[1] then return { 'LOST' } end
  redis.call('SET', keys[2], args[2], 'PX', args[3])
  return { 'REMEMBERED' }
end
