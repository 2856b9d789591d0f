import { queueKinds, test } from '../support/test-pipeline.ts'
import { addProfileWithWork, expectWhole, points, syncUntilCovered } from './points.ts'
import { startWorkerProcess } from './workers.ts'

for (const engine of queueKinds) {
  test(`a worker that dies anywhere costs nothing but repeated work (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine)
    const scene = { line, peer }
    // On the second engine every third point: the code of the points in between does not depend on the engine.
    const places = Object.values(points).filter((_, index) => engine === 'redis' || index % 3 === 1)
    const names = places.map((_, index) => `person-${index}`)

    for (const [index, hold] of places.entries()) {
      const profileId = await addProfileWithWork(scene, names[index] ?? '')
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
    await syncUntilCovered(line)

    await expectWhole(scene, names)
  })
}
