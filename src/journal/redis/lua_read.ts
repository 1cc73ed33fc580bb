/**
 * The scripts that read and count.
 *
 * @module
 */
import { PRELUDE, SETTLE } from "./lua.ts";

/**
 * Reads a page. `ARGV` goes on with: after; up to, or -1; the most entries; the most bytes; then, from
 * a tail, the epoch that it believes in and the mark of the entry that it took last, or two times `""`;
 * then how many topics, or -1 for all, and the topics.
 *
 * Answers `ok`, the epoch, the floor, the head, through, the mark of the entry there, and five for each
 * entry: offset, topic, name, data, time.
 *
 * The mark is what sees that offsets were given twice: when the store came back from an older copy of
 * itself, and was appended to beyond where the tail stands, its head alone does not tell.
 */
export const PAGE: string = `${PRELUDE}${SETTLE}
settle(64)
local after, upTo, limit = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local room, count = tonumber(ARGV[8]), tonumber(ARGV[11])
if upTo < 0 or upTo > head then upTo = head end
local function mark(fields) return fields[10] .. ":" .. fields[12] end
local here = ""
if ARGV[9] ~= "" then
  local fields = after >= base and after <= head and entry(after)
  if fields then here = mark(fields) end
  if ARGV[9] == epoch and ARGV[10] ~= "" and
    (after > head or (fields and here ~= ARGV[10])) then
    rotate()
  end
end
save()
local from = math.max(after + 1, floor)
local answer = {"ok", epoch, floor, head, math.max(after, upTo), here}
local function push(offset, fields)
  local size = #answer
  answer[size + 1] = offset
  answer[size + 2] = fields[2]
  answer[size + 3] = fields[4]
  answer[size + 4] = fields[6]
  answer[size + 5] = fields[8]
end
if count < 0 then
  local to = math.min(upTo, from + limit - 1)
  if from > to then return answer end
  local begin = start(entry(from))
  local function size(offset)
    if offset == head then return bytes - begin end
    return start(entry(offset + 1)) - begin
  end
  while to > from and size(to) > room do to = from + math.floor((to - from) / 2) end
  local found = redis.call("XRANGE", log, id(from), id(to))
  for i = 1, #found do push(from + i - 1, found[i][2]) end
  answer[5] = to
  answer[6] = mark(found[#found][2])
  return answer
end
local each = math.max(8, math.ceil(2 * limit / math.max(1, count)))
local bounded = upTo
local offsets = {}
for i = 1, count do
  local found = redis.call("ZRANGEBYSCORE", index(ARGV[11 + i]), whole(from), whole(upTo),
    "LIMIT", 0, each)
  for j = 1, #found do offsets[#offsets + 1] = tonumber(found[j]) end
  if #found == each then bounded = math.min(bounded, tonumber(found[each])) end
end
table.sort(offsets)
local through = math.max(after, bounded)
for i = 1, #offsets do
  local offset = offsets[i]
  if offset > bounded then break end
  local fields = entry(offset)
  if not fields then return {"damaged", "an index names " .. whole(offset) .. ", which is not there"} end
  push(offset, fields)
  room = room - #fields[6]
  if i == limit or room <= 0 then
    through = offset
    break
  end
end
answer[5] = through
return answer
`;

/**
 * Counts. `ARGV` goes on with: after; up to, or -1; enough; how many topics, or -1, and the topics.
 * Answers `ok` and the number.
 */
export const COUNT: string = `${PRELUDE}${SETTLE}
settle(64)
save()
local after, upTo, enough = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local count = tonumber(ARGV[8])
if upTo < 0 or upTo > head then upTo = head end
local from = math.max(after + 1, floor)
if count < 0 then return {"ok", math.max(0, upTo - from + 1)} end
local total = 0
for i = 1, count do
  if total >= enough then break end
  total = total + redis.call("ZCOUNT", index(ARGV[8 + i]), whole(from), whole(upTo))
end
return {"ok", total}
`;
