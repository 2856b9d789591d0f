import { engines, test } from '../support/pipeline.ts'
import { expectWhole, points, takeIn } from './points.ts'
import { startWorkerProcess } from './workers.ts'

for (const engine of engines) {
  test(`a worker that dies anywhere costs nothing but repeated work (${engine})`, { timeout: 100_000 }, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine)
    const scene = { line, peer }
    // On the second engine every third point: what lies between is the same code.
    const places = Object.values(points).filter((_, index) => engine === 'redis' || index % 3 === 1)
    const names = places.map((_, index) => `person-${index}`)

    for (const [index, hold] of places.entries()) {
      const profileId = await takeIn(scene, names[index] ?? '')
      const stop = await hold(scene)
      const victim = await startWorkerProcess(line.settings)
      onTestFinished(() => victim.kill())
      await line.tick('sync', { profileIds: [profileId], streams: ['scores'] })
      await stop.reached()
      await victim.kill()
      await stop.release()
    }
    const successor = await startWorkerProcess(line.settings)
    onTestFinished(() => successor.kill())
    await line.tick('sync')
    await line.idle()

    await expectWhole(scene, names)
  })
}
