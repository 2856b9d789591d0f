/** The steps of each local day of a zone, added up from the text of Apple's export alone: nothing of our reader is used. */
export function stepsByDay(xml: string, timeZone: string): Record<string, number> {
  const dayIn = new Intl.DateTimeFormat('en-CA', { timeZone })
  const added = new Map<string, number>()
  for (const [line] of xml.matchAll(/<Record type="HKQuantityTypeIdentifierStepCount"[^\n]*/g)) {
    const [, date = '', time = '', hours = '', minutes = ''] =
      line.match(/startDate="(\S+) (\S+) ([+-]\d\d)(\d\d)"/) ?? []
    const day = dayIn.format(Date.parse(`${date}T${time}${hours}:${minutes}`))
    added.set(day, (added.get(day) ?? 0) + Number(line.match(/value="(\d+)"/)?.[1]))
  }
  return Object.fromEntries(added)
}
