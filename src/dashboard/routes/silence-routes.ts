import { z } from 'zod'
import { silenceStates } from '../../pipeline/ledger/silence.ts'
import { type Adherence, listAdherence } from '../../pipeline/warehouse/silence/list-adherence.ts'
import {
  listSilenceGroups,
  listSilent,
  type SilenceGroup,
  type SilentPerson,
} from '../../pipeline/warehouse/silence/list-silence.ts'
import { defineRead, shownName } from '../dashboard-context.ts'

export type SilentAnswer = {
  readonly people: ReadonlyArray<Omit<SilentPerson, 'externalId'> & { readonly name: string }>
  readonly more: boolean
}
export type SilenceGroupsAnswer = readonly SilenceGroup[]
export type AdherenceAnswer = Adherence

const PEOPLE_SHOWN = 100

export const silenceRoutes = [
  defineRead({
    name: 'silent',
    query: z.object({ state: z.enum(silenceStates).optional() }),
    async answer({ reading }, { state }, visit): Promise<SilentAnswer> {
      const found = await listSilent(reading, { state, limit: PEOPLE_SHOWN + 1 })
      const people = found.slice(0, PEOPLE_SHOWN).map(({ externalId, ...person }) => {
        return { ...person, name: shownName(visit, { profileId: person.profileId, externalId }) }
      })
      return { people, more: found.length > PEOPLE_SHOWN }
    },
  }),
  defineRead({
    name: 'silence-groups',
    query: z.object({}),
    answer: ({ reading }): Promise<SilenceGroupsAnswer> => listSilenceGroups(reading),
  }),
  defineRead({
    name: 'adherence',
    query: z.object({ measure: z.string().max(100) }),
    answer: ({ reading }, { measure }): Promise<AdherenceAnswer> => listAdherence(reading, measure),
  }),
]
