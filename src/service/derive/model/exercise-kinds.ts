const words = (text: string): readonly string[] => text.split(' ')

/** Exercises by orientation; all others count as cardio. When no orientation has half of the time, it is hybrid. */
export const exerciseKinds: Readonly<Record<string, readonly string[]>> = {
  strength: words(
    'strength_training weightlifting traditional_strength_training functional_strength_training ' +
      'calisthenics core_training',
  ),
  mind_body: words('yoga pilates tai_chi stretching mind_and_body barre meditation guided_breathing'),
  hybrid: words(
    'high_intensity_interval_training hiit crossfit cross_training circuit_training boot_camp mixed_cardio',
  ),
  sport: words(
    'soccer football basketball tennis badminton volleyball rugby cricket baseball hockey golf squash ' +
      'table_tennis handball boxing martial_arts netball',
  ),
  outdoor: words(
    'hiking skiing snowboarding climbing surfing paddling kayaking sailing trail_running mountain_biking ' +
      'snowshoeing',
  ),
}
export const hybridBelowShare = 0.5

/** The intensity of a session whose heart rate or whose person's age is unknown. All other exercises are medium. */
export const lowIntensityExercise = words(
  'walking yoga pilates tai_chi stretching meditation guided_breathing golf mind_and_body barre',
)
export const highIntensityExercise = words(
  'running high_intensity_interval_training hiit crossfit boot_camp trail_running squash boxing rowing ' +
    'circuit_training jump_rope stair_climbing',
)
