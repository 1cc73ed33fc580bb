/**
 * What runs inside of Redis: a journal's scripts, each of which sees and changes it at one instant.
 *
 * A journal is these keys, where `ROOT` is `tidemark:{NAME}:`, so that a cluster holds them in one slot:
 *
 * - `ROOT meta`: a hash, the counter: {@linkcode FORMAT}, the epoch, and the numbers of the prelude below.
 * - `ROOT log`: a stream; the entry with the offset 7 has the id `7-0`. Its fields are always the same
 *   six, in this order: topic, name, data, the publisher's time, the store's time, and how many bytes
 *   had been appended before it. The last two only grow, so the oldest entry to keep is found by halving.
 * - `ROOT t:TOPIC`: a sorted set for each topic, of the offsets of its entries.
 * - `ROOT ids0`, `ROOT ids1`: hashes from an append's id to its offset. One is written; when it is
 *   old enough the other one is emptied and written instead. No key has an expiry, which would make
 *   it one that some eviction policies choose.
 *
 * All keys but the first are made from it: a client that puts a prefix before keys needs to know one.
 * Numbers that go into text go through `%.0f`: Lua writes `1e+15` on its own.
 *
 * A script that fails half way keeps what it wrote. So everything that can fail comes before the
 * first write, or is called with `pcall` and undone.
 *
 * @module
 */

/** The version of what the keys hold. */
export const FORMAT = "1";

/** The fields of the counter, and with which number a new one begins. */
const NUMBERS = {
  /** The newest offset that was given. */
  head: 0,
  /** The oldest offset that may be read. */
  floor: 1,
  /** The oldest offset that is still in the stream: the floor, or what is about to be deleted. */
  base: 1,
  /** The bytes of everything that was ever appended. */
  bytes: 0,
  /** The store's time of the newest entry. */
  last: 0,
  /** The store's time of the entry at the floor. */
  first: 0,
  /** The bytes that had been appended before the entry at the floor. */
  before: 0,
  /** Which of the two hashes of ids is written. */
  turn: 0,
  /** When the other one was written last. */
  turned: 0,
};

const NAMES = Object.keys(NUMBERS);
const list = (text: (name: string) => string): string => NAMES.map(text).join(", ");

/**
 * Reads the counter, or makes it, and compares it with the stream: a stream that has lost its oldest
 * entries was purged by hand, and begins later; one that has lost others is damaged.
 *
 * A rotation hides what the old epoch had: nobody may read it under a cursor of the new one, and a
 * repetition of it is another event.
 *
 * `KEYS`: the counter. `ARGV`: a new epoch, then the most entries, milliseconds and bytes; 0 for none.
 */
export const PRELUDE: string = `
local meta = KEYS[1]
local root = string.sub(meta, 1, -5)
local log = root .. "log"
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local dirty = false
local function whole(number) return string.format("%.0f", number) end
local function id(offset) return string.format("%.0f-0", offset) end
local function index(topic) return root .. "t:" .. topic end
local function bound(text)
  local number = tonumber(text)
  if number == 0 then return math.huge end
  return number
end
local function entry(offset)
  local found = redis.call("XRANGE", log, id(offset), id(offset))[1]
  return found and found[2]
end
local function stored(fields) return tonumber(fields[10]) end
local function start(fields) return tonumber(fields[12]) end

local held = redis.call("HMGET", meta, "format", "epoch", ${list((name) => `"${name}"`)})
if not held[1] then
  if redis.call("EXISTS", meta) == 1 then return {"format", "none"} end
  if redis.call("EXISTS", log) == 1 then
    return {"damaged", "its entries are there, but not its counter"}
  end
  held = {"${FORMAT}", ARGV[1], ${list((name) => String(NUMBERS[name as keyof typeof NUMBERS]))}}
  dirty = true
elseif held[1] ~= "${FORMAT}" then
  return {"format", held[1]}
end
local epoch = held[2]
${NAMES.map((name, at) => `local ${name} = tonumber(held[${at + 3}])`).join("\n")}
if not (epoch and ${NAMES.join(" and ")}) then
  return {"damaged", "its counter is not whole"}
end

local function save()
  if not dirty then return end
  redis.call("HSET", meta, "format", "${FORMAT}", "epoch", epoch,
    ${NAMES.map((name) => `"${name}", whole(${name})`).join(", ")})
end
local function moveFloor(offset)
  floor = offset
  first, before = last, bytes
  if floor <= head then
    local fields = entry(floor)
    first, before = stored(fields), start(fields)
  end
  dirty = true
end
local function rotate()
  epoch = ARGV[1]
  moveFloor(head + 1)
  redis.call("UNLINK", root .. "ids0", root .. "ids1")
end

local length = redis.call("XLEN", log)
if length ~= head - base + 1 then
  local oldest = redis.call("XRANGE", log, "-", "+", "COUNT", 1)[1]
  local begin = head + 1
  if oldest then begin = tonumber(string.match(oldest[1], "^(%d+)-0$")) end
  if not begin or begin < base or length ~= head - begin + 1 then
    return {"damaged", "it counts from " .. whole(base) .. " to " .. whole(head) ..
      ", and holds " .. whole(length) .. " entries"}
  end
  base = begin
  dirty = true
  if floor < base then moveFloor(base) end
end
`;

/**
 * Finds the oldest entry to keep, and deletes some of those before it: the bound on how many keeps
 * the script short, whatever has come of age at once. What is not deleted yet can't be read either.
 */
export const SETTLE: string = `
local maxEntries, maxAge, maxBytes = bound(ARGV[2]), bound(ARGV[3]), bound(ARGV[4])
local function surplus(offset)
  local fields = entry(offset)
  return now - stored(fields) > maxAge or bytes - start(fields) > maxBytes
end
local function settle(most)
  local low = math.max(floor, head - maxEntries + 1)
  local old = floor <= head and (now - first > maxAge or bytes - before > maxBytes)
  if low > floor or old then
    local high, step = low, 1
    while high <= head and surplus(high) do
      low = high + 1
      high = math.min(high + step, head + 1)
      step = step * 2
    end
    while low < high do
      local middle = math.floor((low + high) / 2)
      if surplus(middle) then low = middle + 1 else high = middle end
    end
    if low > floor then moveFloor(low) end
  end
  local done, room = 0, 1048576
  while base < floor and done < most and room > 0 do
    local fields = entry(base)
    redis.pcall("ZREMRANGEBYSCORE", index(fields[2]), "-inf", whole(base))
    room = room - #fields[6]
    base = base + 1
    done = done + 1
  end
  if done > 0 then
    redis.call("XTRIM", log, "MINID", id(base))
    dirty = true
  end
end
`;

/** Answers `ok`, the epoch, the floor and the head. */
export const WINDOW: string = `${PRELUDE}${SETTLE}
settle(64)
save()
return {"ok", epoch, floor, head}
`;

/** Changes the epoch. `ARGV` goes on with the one that is to end. Answers `ok` and the one that holds. */
export const ROTATE: string = `${PRELUDE}
if epoch == ARGV[5] then rotate() end
save()
return {"ok", epoch}
`;
