/** A text as one word of a POSIX shell, whatever is in it. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A text as one word of a shell, quoted only where it must be. */
export const shellWord = (text: string): string => (/^[\w.@-]+$/.test(text) ? text : shellQuoted(text))

/** A path as one word of a shell, quoted only where it must be. */
export const shellPath = (text: string): string => (/^[\w.@/-]+$/.test(text) ? text : shellQuoted(text))
