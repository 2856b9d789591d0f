const codes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE'])

/** A full disk, or too many open files: the export is whole, and the import is to be tried again. */
export const isOfMachine = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && codes.has(error.code)
