import type { Cluster, Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import {
  type BudgetBoard,
  type FleetState,
  LINE_KEPT_MS,
  type Line,
  readLine,
  readState,
  writeState,
} from '../budget.ts'
import { drawFrom } from './budget-rate.ts'

/** Writes our line, drops those of the dead, gives the rest. Redis' own clock says who is dead. */
const exchangeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], 60000)
local lines = {}
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local gap = string.find(all[at + 1], ' ', 1, true)
  if now - tonumber(string.sub(all[at + 1], 1, gap - 1)) > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[at])
  else
    lines[#lines + 1] = string.sub(all[at + 1], gap + 1)
  end
end
return { string.format('%.0f', now), redis.call('GET', KEYS[2]) or '', lines }`

/** Compare and set: one cut of the budget, however many processes meet the same trouble. */
const adaptScript = `
local current = redis.call('GET', KEYS[1])
local version = current and string.format('%.0f', cjson.decode(current).version) or ''
if version ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', 86400)
return 1`

/**
 * The board in Redis. Requests a second are counted by rate-limiter-flexible; what it has no word for (requests in
 * flight, urgency, one cut for all) is two small scripts. All keys share a hash tag, so that Redis Cluster keeps them together. The connection becomes the board's own: closing
 * the board closes it.
 */
export function openRedisBoard({
  redis,
  prefix = '{vitalsync}:budget',
}: {
  redis: Redis | Cluster
  prefix?: string
}): BudgetBoard {
  const [linesKey, stateKey] = [`${prefix}:lines`, `${prefix}:state`]
  const rate = new RateLimiterRedis({ storeClient: redis, keyPrefix: `${prefix}:rate`, points: 1, duration: 1 })
  return {
    async exchange(line: Line) {
      const answer = await redis.eval(
        exchangeScript,
        2,
        linesKey,
        stateKey,
        line.member,
        JSON.stringify(line),
        LINE_KEPT_MS,
      )
      const [nowMs, state, lines] = answer as [string, string, string[]] // what the script returns
      return {
        nowMs: Number(nowMs),
        state: state === '' ? undefined : readState(JSON.parse(state)),
        lines: lines.map((text) => readLine(JSON.parse(text))),
      }
    },
    async adapt(from: FleetState | undefined, to: FleetState) {
      const done = await redis.eval(adaptScript, 1, stateKey, from?.version ?? '', JSON.stringify(writeState(to)))
      return done === 1
    },
    draw: drawFrom(rate),
    leave: async (member) => void (await redis.hdel(linesKey, member)),
    close: async () => redis.disconnect(),
  }
}
