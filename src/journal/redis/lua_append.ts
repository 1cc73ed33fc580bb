/**
 * The script that stores events.
 *
 * @module
 */
import { PRELUDE, SETTLE } from "./lua.ts";

/**
 * Stores events. `ARGV` goes on with the epoch and the head that the caller has seen, until when it
 * may be done, how long an id is kept, and five for each event: id, topic, name, data, time.
 *
 * Answers `ok`, the epoch, the store's time, and for each event its offset or why it was not stored;
 * or `late` and the time. A head that is lower than it was is a counter that was lost: the numbers
 * above it must not be given again under the same epoch.
 */
export const APPEND: string = `${PRELUDE}${SETTLE}
if now > tonumber(ARGV[7]) then return {"late", now} end
if ARGV[5] == epoch and head < tonumber(ARGV[6]) then rotate() end
local ids = {}
for i = 9, #ARGV, 5 do ids[#ids + 1] = ARGV[i] end
local age, keep = now - turned, tonumber(ARGV[8])
if age >= keep then
  redis.call("UNLINK", root .. "ids" .. (1 - turn))
  if age >= 2 * keep then redis.call("UNLINK", root .. "ids" .. turn) end
  turn, turned = 1 - turn, now
  dirty = true
end
local younger = redis.call("HMGET", root .. "ids" .. turn, unpack(ids))
local older = redis.call("HMGET", root .. "ids" .. (1 - turn), unpack(ids))
local answer = {"ok", epoch, now}
local known, fresh = {}, {}
local stamp = math.max(now, last)
local stamped = whole(stamp)
for i = 1, #ids do
  local key, at = ids[i], 9 + (i - 1) * 5
  local offset = known[key] or younger[i] or older[i]
  if offset then
    answer[#answer + 1] = tonumber(offset)
  else
    local topic, name, data = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    local sorted = index(topic)
    local text = whole(head + 1)
    local done = redis.pcall("ZADD", sorted, text, text)
    if type(done) ~= "table" then
      done = redis.pcall("XADD", log, text .. "-0", "t", topic, "n", name, "d", data,
        "a", ARGV[at + 4], "s", stamped, "b", whole(bytes))
      if type(done) == "table" then redis.call("ZREM", sorted, text) end
    end
    if type(done) == "table" then
      answer[#answer + 1] = done.err
    else
      if floor > head then
        first, before = stamp, bytes
        dirty = true
      end
      head = head + 1
      bytes = bytes + #topic + #name + #data
      last = stamp
      known[key] = head
      fresh[#fresh + 1] = key
      fresh[#fresh + 1] = text
      answer[#answer + 1] = head
    end
  end
end
if #fresh > 0 then redis.call("HSET", root .. "ids" .. turn, unpack(fresh)) end
settle(128 + 2 * #ids)
if dirty then
  save()
elseif #fresh > 0 then
  redis.call("HSET", meta, "head", whole(head), "bytes", whole(bytes), "last", whole(last))
end
return answer
`;
