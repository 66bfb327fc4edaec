-- Lets any client ask for a user's memories to be looked at soon:
--   FCALL memfold_request 1 memfold:requests USER [REASON [FAILURES]]
-- REASON is `request` (the default) or `failures`, with the number of failures in a row.
-- Answers the id of the request, or nothing where too many wait already.
local function request(keys, args)
  if #keys ~= 1 or not args[1] then
    return redis.error_reply('ERR usage: FCALL memfold_request 1 memfold:requests USER [REASON [FAILURES]]')
  end
  if redis.call('XLEN', keys[1]) >= 100000 then return false end
  return redis.call('XADD', keys[1], '*', 'user', args[1], 'reason', args[2] or 'request',
    'failures', args[3] or '0')
end

redis.register_function{function_name='memfold_request', callback=request}
