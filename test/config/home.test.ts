import { expect, test } from 'vitest'
import { homeFolder } from '../../config/home.ts'

test.for([
  [undefined, 'file:///srv/vitalsync/config/home.ts', '/anywhere', '/srv/vitalsync'],
  [undefined, 'file:///srv/app/node_modules/vitalsync/config/home.ts', '/srv/app', '/srv/app'],
  ['/var/lib/vitalsync', 'file:///srv/vitalsync/config/home.ts', '/anywhere', '/var/lib/vitalsync'],
  ['data', 'file:///srv/vitalsync/config/home.ts', '/anywhere', '/anywhere/data'],
] as const)('home %s of %s, standing in %s, is %s', ([given, program, standing, home]) => {
  expect(homeFolder(given, program, standing)).toBe(home)
})
