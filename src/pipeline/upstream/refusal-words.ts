import { dataLogInputSchema } from '../../base/contract/data-log.ts'
import { demographicInputSchema } from '../../base/contract/demographic.ts'
import { deviceInformationInputSchema } from '../../base/contract/device-information.ts'
import { tagInputSchema } from '../../base/contract/tag.ts'

/** The words in which a validator says what is wrong. Every other word of upstream's could be a name or a finding. */
const validatorWords = `
  a above accepted account all allowed already also an and any are array as at bad be because been before below beginning
  between body boolean but by cannot character characters consent contain contains content conversion count create
  created data date dates day days deleted denied does duplicate duplicated each earlier either empty end equal
  error errors exceed exceeds exist existing exists expected expired external failed false far few field fields first
  following for forbidden format found from future given got greater has have high higher id ids in incorrect integer invalid is
  it item items its key keys kind last later least less limit list log logs long longer low lower many match maximum may
  minimum missing more most much must name negative never newer next no non none not null number numbers object of off
  offset old older on one only or other out over parameter parse past pattern payload permitted positive present
  previous profile profiles properties property range read reason received refused rejected removed repeated request
  required reserved same second seconds see should short shorter size small smaller some start status string strings
  such supported support tag tags taken text than that the this time timestamp timezone to token too true twice type
  types under unexpected unique unit units unknown unsupported until up upper use used valid validation value values
  was were when which whole will window windows with without wrong year years zero zone`

const refusalWords = new Set(validatorWords.trim().split(/\s+/))

/** The names of the fields that we send. */
const fields = new Set([
  ...[dataLogInputSchema, tagInputSchema, demographicInputSchema, deviceInformationInputSchema].flatMap((schema) =>
    Object.keys(schema.shape),
  ),
  'externalId',
  'additionalProperties',
  'types',
  'categories',
])

export const isRefusalWord = (word: string): boolean => refusalWords.has(word.toLowerCase()) || fields.has(word)
