import { z } from 'zod'

/** The kinds of fields that the results of `--json` share. */
export const instant = z.iso.datetime({ offset: true })
export const count = z.int().nonnegative()
export const share = z.number().min(0).max(1)
