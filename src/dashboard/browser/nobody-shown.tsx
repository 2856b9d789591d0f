import { Empty } from '../../web/browser/parts.tsx'

/** Why a list of people is empty: none is known, or none fits the question. */
export const NobodyShown = ({ isAsked }: { isAsked: boolean }) => (
  <Empty>
    {isAsked
      ? 'Nobody fits. Names are compared letter by letter, from their beginning.'
      : 'Nobody is known yet: vitalsync profiles discover takes in all that upstream knows.'}
  </Empty>
)
