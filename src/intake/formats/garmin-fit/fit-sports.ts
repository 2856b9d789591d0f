import type { SessionName } from '../measures.ts'

/** By their numbers, from 0. */
const sports = (
  'other running cycling transition fitness_equipment swimming basketball soccer tennis american_football training walking ' +
  'cross_country_skiing alpine_skiing snowboarding rowing mountaineering hiking multisport paddling flying e_biking ' +
  'motorcycling boating driving golf hang_gliding horseback_riding hunting fishing inline_skating rock_climbing sailing ' +
  'ice_skating sky_diving snowshoeing snowmobiling stand_up_paddleboarding surfing wakeboarding water_skiing kayaking rafting ' +
  'windsurfing kitesurfing tactical jumpmaster boxing floor_climbing'
).split(' ')

/** Kinds of training that have a number below that of the sport only. */
const trainings: ReadonlyMap<number, string> = new Map([
  [20, 'strength_training'],
  [26, 'cardio_training'],
  [43, 'yoga'],
  [44, 'pilates'],
])
const TRAINING = 10
const FITNESS_EQUIPMENT = 4
const HIGH_INTENSITY = 62

export function sportName(sport = 0, subSport = -1): SessionName {
  const training = sport === TRAINING || sport === FITNESS_EQUIPMENT ? trainings.get(subSport) : undefined
  const name = sport === HIGH_INTENSITY ? 'hiit' : (training ?? sports[sport] ?? 'other')
  return `exercise_session_${name}`
}
