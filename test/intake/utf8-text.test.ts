import { expect, test } from 'vitest'
import { appleHealth } from '../../src/intake/formats/apple-health/apple-health.ts'
import { whoop } from '../../src/intake/formats/whoop.ts'
import { asUtf8 } from '../../src/intake/utf8-text.ts'
import { fileOf, importOne } from '../support/health-files.ts'

const littleEndian = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')
const bigEndian = (text: string) => littleEndian(text).swap16()
const columns =
  'Cycle start time,Cycle end time,Cycle timezone,Sleep onset,Wake onset,Sleep performance %,Respiratory rate (rpm),Asleep duration (min),In bed duration (min),Light sleep duration (min),Deep (SWS) duration (min),REM duration (min),Awake duration (min),Nap'
const sleeps = `${columns}\n2026-03-01 23:10:00,,UTCZ,2026-03-01 23:10:00,2026-03-02 07:00:00,90,14.5,432,470,230,92,110,38,false\n`
const apple =
  '<?xml version="1.0" encoding="UTF-16"?><HealthData locale="de"><Record type="HKQuantityTypeIdentifierStepCount" sourceName="Uhr Ä 😀" unit="count" startDate="2026-03-01 08:00:00 +0100" endDate="2026-03-01 08:10:00 +0100" value="120"/></HealthData>'

for (const [name, encoded] of Object.entries({ littleEndian, bigEndian })) {
  test(`a table and an XML file in UTF-16 are read as in UTF-8 (${name}, whatever the chunks)`, async () => {
    for (const chunkBytes of [1, 3, 65_536]) {
      const table = await importOne(fileOf('sleeps.csv', encoded(sleeps), chunkBytes), { formats: [whoop] })
      const plainTable = await importOne(fileOf('sleeps.csv', sleeps), { formats: [whoop] })
      expect(table.logs).toEqual(plainTable.logs)
      const xml = await importOne(fileOf('export.xml', encoded(apple), chunkBytes), { formats: [appleHealth] })
      const plainXml = await importOne(fileOf('export.xml', apple), { formats: [appleHealth] })
      expect(xml.logs).toEqual(plainXml.logs)
      expect([table.logs.length, xml.logs.length]).toEqual([6, 1])
    }
  })
}

test('all other bytes stay as they are', async () => {
  for (const bytes of ['', '\xff', '\xff\xd8\xff', 'SQLite format 3\0', '\xef\xbb\xbfa,b', 'a']) {
    const content = Buffer.from(bytes, 'latin1')
    for (const chunkBytes of [1, 2, 65_536]) {
      const read: Buffer[] = []
      for await (const chunk of await asUtf8(fileOf('any', content, chunkBytes)).open()) read.push(chunk)
      expect(Buffer.concat(read)).toEqual(content)
    }
  }
})
