import { part as causes } from './causes/part.ts'
import { part as history } from './history/part.ts'
import { part as mutants } from './mutants/part.ts'
import type { ProofPart } from './part.ts'
import { part as sqlMutants } from './sql-mutants/part.ts'
import { part as stories } from './stories/part.ts'

export const parts: readonly ProofPart[] = [mutants, sqlMutants, stories, history, causes]
