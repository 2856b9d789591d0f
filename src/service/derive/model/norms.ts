import type { Sex } from './demographics.ts'
import { curve } from './model.ts'
import { interpolate, mean, normalShare, withoutEqualNeighbours } from './statistics.ts'

/** A distribution to compare with: its median, and the share of it at or below a value. */
export type Norm = { readonly normId: string; readonly middle: number; readonly shareBelow: (x: number) => number }

/**
 * Resting heart rate of wearers: mean 65.5, deviation 7.7, range 40-109 (Quer 2020); women 2-3 higher (Fitbit). The two
 * means are set so that 63 % women give 65.5. Clinics find 71 and 74 in seated people (Ostchega, NHANES 1999-2008).
 */
export const restingHeartRates = {
  Male: { mean: 63.6, spread: 7.5 },
  Female: { mean: 66.6, spread: 7.5 },
  all: { mean: 65.5, spread: 7.7 },
} as const

/** VO2max by decade of age (FRIEND, treadmill); ends 20-29 and 70-79 as published, decades between on the line. */
const friendMedians = {
  Male: curve([25, 48], [75, 24.4]),
  Female: curve([25, 37.6], [75, 18.3]),
}

/** Myers 2017 (FRIEND): 79.9 - 0.39 age - 13.7 [female] - 0.127 weight in pounds, deviation 7.2. */
const vo2MaxSpread = 7.2
/** The ages of the people that this formula was made from. */
export const vo2MaxAges = [20, 79] as const
const poundsPerKg = 2.20462

/** The norm of steps for a sex and the decade of an age. */
export function stepsNorm(sex: Sex, age: number): Norm {
  const decade = Math.min(OLDEST_DECADE, Math.max(0, Math.floor(age / 10)))
  const column = (sex === 'Female' ? 1 : 2 + OLDEST_DECADE) + decade
  const points = stepsBySex.map((row): [number, number] => [row[column] ?? 0, (row[0] ?? 0) / 100])
  const middle = points.find(([, share]) => share === 0.5)?.[0] ?? 0
  return { normId: stepsNormId, middle, shareBelow: (x) => interpolate(withoutEqualNeighbours(points), x) }
}

/** The norm of steps for all adults: the mean of the decades from 20 to 69 of both sexes, percentile by percentile. */
export function stepsNormOfAll(): Norm {
  const points = stepsOfAdults.map(([percentile = 0, ...decades]): [number, number] => [
    mean(decades),
    percentile / 100,
  ])
  const middle = points.find(([, share]) => share === 0.5)?.[0] ?? 0
  return { normId: `${stepsNormId}-all-adults`, middle, shareBelow: (x) => interpolate(points, x) }
}

export function restingHeartRateNorm(sex: Sex | null): Norm {
  const { mean, spread } = restingHeartRates[sex ?? 'all']
  return normalNorm(sex === null ? 'wearables-quer-2020' : 'wearables-quer-2020-by-sex', mean, spread)
}

export function vo2MaxNorm(person: { sex: Sex; age: number; weightKg: number | null }): Norm {
  if (person.weightKg === null) {
    return normalNorm('friend-treadmill', interpolate(friendMedians[person.sex], person.age), vo2MaxSpread)
  }
  return normalNorm('friend-myers-2017', vo2MaxExpected({ ...person, weightKg: person.weightKg }), vo2MaxSpread)
}

/** The VO2max that people of this sex, age and weight have on average. */
export function vo2MaxExpected({ sex, age, weightKg }: { sex: Sex; age: number; weightKg: number }): number {
  const female = sex === 'Female' ? 1 : 0
  return 79.9 - 0.39 * age - 13.7 * female - 0.127 * weightKg * poundsPerKg
}

/** The norm of VO2max for all adults: both sexes at 45, the middle of the measured decades. */
export function vo2MaxNormOfAll(): Norm {
  const middle = (interpolate(friendMedians.Male, 45) + interpolate(friendMedians.Female, 45)) / 2
  return normalNorm('friend-treadmill-all-adults', middle, 1.5 * vo2MaxSpread)
}

function normalNorm(normId: string, mean: number, spread: number): Norm {
  return { normId, middle: mean, shareBelow: (x) => normalShare((x - mean) / spread) }
}

/**
 * Percentiles of daily steps by sex and age band: survey-weighted, wrist-worn, NHANES 2011-2014, counted with stepcount
 * (self-supervised), after Koffman et al. The algorithm moves means from 2,453 to 12,169 a day, so it is named wherever
 * a comparison uses these; stepcount had the best accuracy (F1 0.89, MAPE 8.6 %). Owners of consumer devices sit lower.
 */
const stepsNormId = 'nhanes-2011-2014-stepcount-ssl'

const rowsOf = (table: string) =>
  table
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/).map(Number))

/** The last column of a sex, 80-84. */
const OLDEST_DECADE = 8
/** The percentile, then the steps of women and those of men, each a column a decade of age from 0-9 to 70-79, then 80-84. */
const stepsBySex = rowsOf(`
 1  4299  2169  2480  2496  1524   431    53    13     0  4027  2892  2087  3150  1646   970  1197    21    10
 2  4751  3194  2795  3138  2714  1374   750   309     0  4720  3508  2423  3452  2721  2558  1732   139    10
 5  5478  4231  3481  3752  3779  2749  2288   786    13  5363  4650  3530  4333  4445  4008  2703  1288    44
10  6160  5214  4406  4430  4669  3878  3541  1692    94  6194  5750  4907  5429  5636  4940  3526  2077   392
15  6588  5742  5062  5146  5175  4899  4206  2389   631  6753  6704  5974  6347  6524  5889  4395  3194  1329
20  7024  6231  5372  5583  5866  5638  4877  2920  1067  7329  7164  6599  7096  7061  6326  5074  4210  2162
25  7282  6549  5826  6153  6336  6093  5389  3547  1383  7717  7606  7293  7794  7687  7120  5836  4878  2533
30  7560  6906  6113  6683  6742  6523  5770  4045  1701  8184  8047  7900  8390  8118  7880  6749  5107  3105
35  7881  7333  6510  7152  7507  6919  6438  4325  2107  8630  8438  8254  8880  8738  8584  7487  5502  3529
40  8095  7658  6801  7526  7910  7548  6715  4764  2696  9085  8869  8917  9466  9235  9064  8029  5995  4032
45  8376  7979  7280  7967  8322  8208  7270  5362  3073  9552  9342  9561  9857  9658  9638  8557  6554  4425
50  8664  8394  7810  8448  8663  8622  7779  5712  3386  9965  9755 10136 10304 10015 10047  8933  6938  4863
55  8994  8777  8499  8730  9214  9062  8071  6167  3751 10303 10182 10564 10820 10658 10618  9544  7269  5184
60  9268  9255  8779  9128  9654  9598  8611  6495  4226 10742 10624 10905 11390 11259 11188 10353  8089  5633
65  9581  9648  9177  9518 10160 10110  9302  6956  4674 11047 11320 11538 11835 11934 12048 10809  8625  6462
70 10055 10166  9812 10132 10841 10758  9830  7462  4841 11478 12006 12358 12461 12528 12448 11303  9090  6840
75 10402 10678 10537 10949 11634 11373 10641  8232  5424 12032 12537 13224 13197 13339 12913 12020  9695  7244
80 10717 11044 11215 11934 12592 11906 11298  8776  5986 12615 13188 14095 14114 14186 13424 12529 10328  7750
85 11345 11571 12149 12802 13240 12640 12205  9608  6791 13240 14055 14833 15178 15275 14776 13593 11654  8447
90 12193 12575 12761 13862 14314 13613 13039 10903  7868 14082 15208 16645 16429 17178 16145 14086 12453  9019
95 13439 13777 13953 15890 16213 15458 14908 11968  9571 15799 17440 19227 18644 21054 19037 16250 14734 12205
98 14646 14786 16136 17517 17810 18129 17887 13547 11520 17911 19453 22018 21800 22882 21150 19190 16035 14923
99 14833 16068 18235 18474 18568 18900 19083 15466 12660 18682 21064 22690 23955 25750 24916 19563 16294 15268
`)

/** The percentile, then the steps of both sexes together, a column a decade of age from 20-29 to 60-69. */
const stepsOfAdults = rowsOf(`
 1  2141  2676  1646   559   147
 2  2554  3321  2714  1882  1443
 5  3530  3995  3982  3079  2524
10  4661  4856  4975  4423  3541
15  5243  5542  5736  5291  4261
20  5877  6240  6394  5931  5012
25  6218  6861  6959  6395  5576
30  6760  7413  7612  6988  6140
35  7293  7903  7952  7637  6711
40  7874  8390  8395  8311  7355
45  8426  8768  8911  8764  7816
50  8800  9276  9382  9334  8195
55  9421  9787  9785  9820  8778
60  9992 10240 10390 10303  9435
65 10564 10833 11044 10938  9975
70 11072 11496 11844 11644 10704
75 11860 12151 12567 12250 11298
80 12552 12873 13240 12745 12121
85 13406 14042 14196 13463 12824
90 14570 15339 15415 14893 13872
95 17152 17035 17835 17074 15526
98 20475 19756 21555 19963 18546
99 22097 22064 23154 21150 19499
`)
