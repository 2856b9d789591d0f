import type { Cluster, Redis } from 'ioredis'
import { z } from 'zod'
import { SECOND } from '../../base/time/units.ts'
import {
  type BudgetStore,
  MEMBER_TTL_MS,
  parseMemberState,
  parseStoredBudget,
  storedBudgetOf,
} from '../fleet/budget.ts'
import { ratePermitsFrom } from './rate-permits.ts'

/**
 * Writes the state of this member, removes dead members, returns the rest. Without a member it writes nothing. The clock of Redis decides
 * who is dead.
 */
const fleetScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] then
  redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. ' ' .. ARGV[3])
  redis.call('PEXPIRE', KEYS[1], 60000)
end
local members = {}
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local gap = string.find(all[at + 1], ' ', 1, true)
  if now - tonumber(string.sub(all[at + 1], 1, gap - 1)) <= tonumber(ARGV[1]) then
    members[#members + 1] = string.sub(all[at + 1], gap + 1)
  elseif ARGV[2] then
    redis.call('HDEL', KEYS[1], all[at])
  end
end
return { string.format('%.0f', now), redis.call('GET', KEYS[2]) or '', members }`

const fleetAnswerSchema = z.tuple([z.string(), z.string(), z.array(z.string())])

function parseFleetAnswer(answer: unknown) {
  const [nowMs, budget, members] = fleetAnswerSchema.parse(answer)
  return {
    nowMs: Number(nowMs),
    budget: budget === '' ? undefined : parseStoredBudget(JSON.parse(budget)),
    members: members.map((text) => parseMemberState(JSON.parse(text))),
  }
}

/** Compare and set: however many processes see one overload, the budget decreases once. */
const compareAndSetScript = `
local current = redis.call('GET', KEYS[1])
local version = current and string.format('%.0f', cjson.decode(current).version) or ''
if version ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', 86400)
return 1`

/** A second begins with its first request, and with no less than 0: a negative number may come after the end of its second. */
const countScript = `
local left = redis.call('PTTL', KEYS[1])
if left > 0 then return { redis.call('INCRBY', KEYS[1], ARGV[1]), left } end
local first = math.max(0, tonumber(ARGV[1]))
redis.call('SET', KEYS[1], first, 'PX', ${SECOND})
return { first, ${SECOND} }`

const countAnswerSchema = z.tuple([z.number(), z.number()])

/**
 * The budget store in Redis. All keys share a hash tag, so that Redis Cluster keeps them on one node. The store owns the
 * connection: closing the store closes the connection.
 */
export function openRedisBudgetStore({
  redis,
  prefix = '{vitalsync}:budget',
}: {
  redis: Redis | Cluster
  prefix?: string
}): BudgetStore {
  const [membersKey, budgetKey, rateKey] = [`${prefix}:lines`, `${prefix}:state`, `${prefix}:rate:requests`]
  const askFleet = async (...mine: string[]) =>
    parseFleetAnswer(await redis.eval(fleetScript, 2, membersKey, budgetKey, MEMBER_TTL_MS, ...mine))
  return {
    heartbeat: (mine) => askFleet(mine.member, JSON.stringify(mine)),
    read: () => askFleet(),
    async compareAndSet(expected, next) {
      const values = [expected?.version ?? '', JSON.stringify(storedBudgetOf(next))]
      return (await redis.eval(compareAndSetScript, 1, budgetKey, ...values)) === 1
    },
    acquireRatePermits: ratePermitsFrom(async (requests) => {
      const [counted, endsInMs] = countAnswerSchema.parse(await redis.eval(countScript, 1, rateKey, requests))
      return { counted, endsInMs }
    }),
    removeMember: async (member) => void (await redis.hdel(membersKey, member)),
    close: async () => redis.disconnect(),
  }
}
